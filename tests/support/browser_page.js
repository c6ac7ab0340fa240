// What tests ask of a page from within: `looking` is put into each page that is asked.
globalThis.looking = (() => {
  const shown = e => e.checkVisibility({opacityProperty: true, visibilityProperty: true});
  const named = e => `${e.tagName.toLowerCase()}.${e.getAttribute('class') || ''}#${e.id}`;

  // Elements that end beyond the right edge of the page and stand in nothing that scrolls or cuts on purpose
  function wider() {
    const edge = document.documentElement.clientWidth + 1;
    const held = e => {
      for (let p = e.parentElement; p; p = p.parentElement) {
        const style = getComputedStyle(p);
        if (style.position === 'fixed') return true;
        if (p !== document.body && /auto|scroll|hidden|clip/.test(style.overflowX)) return true;
      }
      return false;
    };
    return [...document.querySelectorAll('body *')].filter(e => {
      const box = e.getBoundingClientRect();
      return box.width && box.height && box.right > edge && shown(e) && !held(e);
    }).map(named);
  }

  // When each frame was drawn, in milliseconds, for so many; two frames at least
  const frames = lasting => new Promise(done => {
    const times = [], begin = performance.now();
    const frame = now => {
      times.push(now);
      if (times.length < 2 || now - begin < lasting) requestAnimationFrame(frame); else done(times);
    };
    requestAnimationFrame(frame);
  });

  // Wait until a function is true; fails after so many milliseconds
  const until = (condition, longest) => new Promise((done, fail) => {
    const end = performance.now() + longest;
    const look = () => {
      if (condition()) done();
      else if (performance.now() > end) fail(Error('too late'));
      else setTimeout(look, 16);
    };
    look();
  });

  const canvas = document.createElement('canvas').getContext('2d', {willReadFrequently: true});

  // Red, green, blue and opacity, 0 to 1, of a colour as CSS writes it
  function channels(colour) {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data].map(x => x / 255);
  }

  // Relative luminance, WCAG 2.2
  const luminance = colour => colour.slice(0, 3)
    .map(x => x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4)
    .reduce((sum, x, i) => sum + x * [0.2126, 0.7152, 0.0722][i], 0);

  const over = (top, below) => top.slice(0, 3).map((x, i) => x * top[3] + below[i] * (1 - top[3])).concat(1);

  function paint(e) {
    const style = getComputedStyle(e);
    if (!e.ownerSVGElement) return channels(style.backgroundColor);
    const colour = channels(style.fill === 'none' ? 'transparent' : style.fill);
    colour[3] *= +style.fillOpacity;
    for (let p = e; p.ownerSVGElement; p = p.parentElement) colour[3] *= +getComputedStyle(p).opacity;
    return colour;
  }

  // The texts of drawings, which axe leaves out: size on the screen and contrast with what lies below their middle
  const letters = () => [...document.querySelectorAll('svg text')].filter(e => e.textContent.trim() && shown(e)).map(e => {
    e.scrollIntoView({block: 'center', inline: 'center', behavior: 'instant'});
    const box = e.getBoundingClientRect();
    const stack = document.elementsFromPoint(box.x + box.width / 2, box.y + box.height / 2);
    const place = stack.findIndex(x => x === e || e.contains(x));
    const below = stack.slice(place + 1).filter(x => !/^(text|tspan|svg|g|line|polyline)$/.test(x.tagName));
    const page = over(channels(getComputedStyle(document.documentElement).backgroundColor), [1, 1, 1, 1]);
    const ground = below.map(paint).reduceRight((under, x) => over(x, under), page);
    const [less, more] = [luminance(ground), luminance(over(paint(e), ground))].sort((x, y) => x - y);
    const matrix = e.getScreenCTM();
    return {
      text: e.textContent.trim(),
      px: parseFloat(getComputedStyle(e).fontSize) * Math.hypot(matrix.a, matrix.b),
      contrast: (more + 0.05) / (less + 0.05),
    };
  });

  // The smallest letters of each picture that is an image of SVG, in pixels on the screen. Matplotlib draws letters as
  // outlines of 100 units each, which `scale(0.08 -0.08)` makes 8 high
  const imageLetters = () => [...document.images].filter(shown).flatMap(e => {
    const [head, code] = [/^data:image\/svg\+xml(;charset=[^;,]*)?(;base64)?,/.exec(e.currentSrc), e.currentSrc.split(',')[1]];
    if (!head) return [];
    const source = head[2] ? atob(code) : decodeURIComponent(code);
    const drawn = [...source.matchAll(/scale\(([\d.]+) -[\d.]+\)/g)].map(m => 100 * m[1]);
    const written = [...source.matchAll(/font(?:-size)?: ?[^;"]*?([\d.]+)px/g)].map(m => +m[1]);
    const width = /viewBox="\S+ \S+ ([\d.]+)/.exec(source)[1];
    return [{text: e.alt.slice(0, 60), px: Math.min(...drawn, ...written) * e.clientWidth / width}];
  });

  // Who has the focus, and whether an outline or a shadow shows it
  function focused() {
    const e = document.activeElement, style = getComputedStyle(e), box = e.getBoundingClientRect();
    const seen = style.outlineStyle !== 'none' || style.boxShadow !== 'none';
    return {name: named(e), end: e === document.body, seen: seen && box.width > 0 && box.height > 0};
  }

  return {wider, frames, until, letters, imageLetters, focused};
})();
