"""Output for people and programs.

In: rows of `evaluation`, models, facts of launches. Out: sentences, tables, figures, a page. Read in order: `table`
(the end of a run in a terminal), `grid`, `verdict_sentence` and the other modules of one sentence, `run_list`; `page`
(HTML), its `answer`, `origin`, `how_measured`, `time_table`, `arrival_table`, `placement_table`, `native_section`,
`distribution`, `caveats`; `pictures` (of a page), `figure` (what one declares), `live_chart` (a figure as numbers),
`figures` (a file each, found by scanning); `forecast` (of models); `formats`: for programs; `web`: style and script.
"""
