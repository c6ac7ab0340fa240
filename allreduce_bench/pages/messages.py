"""Sentences of this wing: a template for each code; see `message`."""

MESSAGES = {
    "pages.blocks_picture_shows_most": "{algorithm}: {part_count} blocks; a picture shows at most {most_blocks}; use a longer --segment, or leave out -o for the text",
    "pages.compare_makes_page_add": "--compare makes a page; add -o and a name that ends in .html",
    "pages.compare_takes_two_algorithms": "--compare takes two algorithms, such as ring two_tree; found {algorithm_count}",
    "pages.count_picture_needs_element": "--count {count}: a picture needs an element",
    "pages.exists_gallery_written_new": "-o {folder}: exists; the gallery is written to a new folder, so name another or remove it",
    "pages.expected_name_ends": "-o {output}: expected a name that ends in {endings}",
    "pages.expected_name_ends_2": "{path}: expected a name that ends in {ending}",
    "pages.explain_takes_algorithm_two": "explain takes one algorithm, or two with --compare; found {found}",
    "pages.explain_takes_single_rank": "explain takes a single rank count, found {ranks}",
    "pages.holds_algorithms_picture_shows": "{name}: holds {chosen_count} algorithms; a picture shows one, so keep one in the file",
    "pages.library_words": "{library}: {words}",
    "pages.messages_picture_shows_most": "{algorithm}: {messages:,} messages; a picture shows at most {most_messages:,}; use fewer ranks or a longer --segment, or leave out -o for the text",
    "pages.no_found_reinstall_package": "no {file} found in {places}; reinstall the package",
    "pages.picture_shows_most_ranks": "-n {ranks}: a picture shows at most {most_ranks} ranks; leave out -o, or name a .txt file, for the text",
    "pages.ranks": "{find}, {size} ranks: {refusal}",
    "pages.rounds_png_file_shows": "{algorithm}: {round_count} rounds; a .png file shows fewer than {most_panels}; use a longer --segment, or name a .gif or .html file",
    "pages.shows_every_algorithm_same": "--all shows every algorithm in the same way; leave out {named}",
    "pages.writes_folder_pages_add": "--all writes a folder of pages; add -o and the name of a new folder, such as -o site",
}
