"""Output for people and programs.

In: rows of `evaluation`, models, facts of launches. Out: sentences, tables, figures, a page. Read in this order:
`table` (the end of a run in a terminal), its `grid`, `verdict_sentence`, `run_list`, `page` (HTML), `caveat`,
`caveats`, `time_caveats` (caveats about the times), `limit_findings`, `how_measured`, `how_imported`,
`traffic_sentence`, `launch_states_sentence`, `wrong_clusters_sentence`, `distribution`, `pictures` (the figures of a
page), `figure` (what one declares) and `figures` (a file each, found by scanning), `drawn_bounds`, `forecast`;
`formats`: for programs.
"""
