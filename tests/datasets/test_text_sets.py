import json

import pytest

from proxcal.datasets import Sample, multinli, yahoo_answers, yahoo_titles

YAHOO = (
    '"5","why doesn\'t an optical mouse work on a glass table?","or even on some surfaces?","Optical mice use an '
    '""LED"".\\nThey reflect."\n"10","Who won?","","Nobody"\n'
)


def test_a_question_joins_title_content_and_answer(write):
    samples = yahoo_answers(write({"test.csv": YAHOO}))
    assert samples.contents[0] == (
        'why doesn\'t an optical mouse work on a glass table? or even on some surfaces? Optical mice use an "LED".\n'
        "They reflect."
    )
    assert samples.contents[1] == "Who won? Nobody"


def test_topics_count_from_one_in_the_file(write):
    samples = yahoo_answers(write({"train.csv": YAHOO}), "train")
    assert [samples.classes[label] for label in samples.labels] == ["Computers & Internet", "Politics & Government"]


def test_titles_alone_are_what_the_papers_code_asks(write):
    assert yahoo_titles(write({"test.csv": YAHOO})).contents[1] == "Who won?"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('"11","a","b","c"\n', "test.csv has 4 values in row 1, the first '11'; a class from 1 to 10 and three texts"),
        ('"1","a","b","c"\n"2","a"\n', "test.csv has 2 values in row 2, the first '2'"),
        ('"1","a","b",' + "c" * 200_000, "test.csv is no CSV file: field larger than field limit"),
    ],
)
def test_a_row_that_is_no_question_is_told(write, text, message):
    with pytest.raises(ValueError, match=message):
        yahoo_answers(write({"test.csv": text}))


def test_where_yahoos_questions_are_obtained_is_said(tmp_path):
    with pytest.raises(ValueError, match=r"has no test\.csv: Yahoo Answers Topics needs train\.csv .*Crepe"):
        yahoo_answers(tmp_path)


def test_a_column_that_there_is_not_is_told(write):
    with pytest.raises(ValueError, match="columns must be one of 'title', 'content', 'answer'; got 'subject'"):
        yahoo_answers(write({"test.csv": YAHOO}), columns=["subject"])


PAIRS = [
    ("contradiction", 'He said "no".', "He agreed.", "1c"),
    ("-", "Undecided.", "Perhaps.", "2x"),
    ("entailment", "A line\u2028that does not end\x85here", "A line", "3e"),
    ("neutral", "It rained.", "It rained in Rome.", "4n"),
]
EXPECTED = [
    Sample("1c", ('He said "no".', "He agreed."), 2),
    Sample("3e", ("A line\u2028that does not end\x85here", "A line"), 0),
    Sample("4n", ("It rained.", "It rained in Rome."), 1),
]


def as_json_lines():
    keys = ("gold_label", "sentence1", "sentence2", "pairID")
    return "".join(json.dumps(dict(zip(keys, pair, strict=True)), ensure_ascii=False) + "\n" for pair in PAIRS)


def as_columns(end="\n"):
    """As the authors' .txt: parses between, and columns at the end that some lines lack."""
    head = "gold_label\tsentence1_parse\tsentence1\tsentence2\tpairID\tlabel1\tlabel2"
    rows = [f"{gold}\t(S x)\t{first}\t{second}\t{pair}\tneutral" for gold, first, second, pair in PAIRS]
    return end.join([head, *rows]) + end


def as_glue():
    head = "index\tpairID\tsentence1\tsentence2\tlabel1\tgold_label"
    rows = [f"{i}\t{pair}\t{first}\t{second}\t-\t{gold}" for i, (gold, first, second, pair) in enumerate(PAIRS)]
    return "\n".join([head, *rows]) + "\n"


@pytest.mark.parametrize(
    ("part", "name", "text"),
    [
        ("matched", "multinli_1.0_dev_matched.jsonl", as_json_lines()),
        ("mismatched", "multinli_1.0_dev_mismatched.txt", as_columns()),
        ("train", "multinli_1.0_train.txt", as_columns("\r\n")),
        ("matched", "dev_matched.tsv", as_glue()),
    ],
)
def test_pairs_and_what_follows_are_read_from_each_of_its_formats(write, part, name, text):
    samples = multinli(write({name: text}), part)
    assert list(samples) == EXPECTED
    assert samples.classes == ("entailment", "neutral", "contradiction")


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("dev_matched.tsv", "sentence1\tsentence2\na\tb\n", "has no 'gold_label' in line 2; is it cut short?"),
        ("dev_matched.tsv", as_glue().replace("neutral", "maybe"), "gold_label in line 5 of .* must be one of 'entail"),
        ("multinli_1.0_dev_matched.jsonl", as_json_lines()[:-20], "has no JSON in line 4; is it cut short?"),
    ],
)
def test_a_line_that_is_no_pair_is_told(write, name, text, message):
    with pytest.raises(ValueError, match=message):
        multinli(write({name: text}))


def test_where_multinli_is_obtained_is_said(tmp_path):
    with pytest.raises(ValueError, match=r"has no multinli_1\.0_dev_matched\.jsonl or .*cims\.nyu\.edu/~sbowman"):
        multinli(tmp_path)


def test_a_part_that_there_is_not_is_told(tmp_path):
    with pytest.raises(ValueError, match="the part of MultiNLI must be one of 'matched', 'mismatched', 'train'; got"):
        multinli(tmp_path, "test")
