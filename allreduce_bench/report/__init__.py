"""Output for people and programs.

In: rows of `evaluation`, models, facts of launches. Out: sentences, tables, figures, a page. Read in order: `table`
(the end of a run in a terminal), `grid`, `verdict_sentence`, `run_list`; `page` (HTML), its `answer`, `origin`,
`time_table`, `native_section`, `folding`, `several_runs`, `call_distributions`; `caveat`, `caveats`, `time_caveats`,
`straggler_silence`, `straggler_sentences` and `straggler_table` (who arrives late), `straggler_section`,
`limit_findings`, `how_measured`, `how_imported`, `distribution`, and the modules of one sentence; `pictures` (of a
page), `figure` (what one declares), `live_chart` (a figure as numbers), `figures` (a file each, found by scanning),
`drawn_bounds`, `forecast`; `formats`: for programs; `web`: style and script; `health_text`, `health_map`: of nodes.
"""
