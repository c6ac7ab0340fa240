"""Output for people and programs.

In: rows of `evaluation`, models, facts of launches. Out: sentences, tables, figures, a page. Read in order: `table`
(the end of a run in a terminal), `grid`, `verdict_sentence`, `run_list`; `page` (HTML), and its parts `how_measured`
(and where), `ran_section`, `time_table`, `statistics_table`, `distribution` (calls), `caveats`;
`launch_states_sentence`, `damage_sentence`; `live_chart` (a figure as numbers), `chart_drawing` (its picture), `figure`
(a figure's declaration), `figures` (a file each, found by scanning), `pictures` (of a page), `paper` (for a paper);
`forecast` (of models); `formats`: for programs; `templates`, `web`: HTML, style and script.
"""
