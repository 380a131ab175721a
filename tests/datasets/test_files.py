import numpy as np
import pytest

from proxcal.datasets import Sample, Samples, image_folder, open_samples, write_table


def test_a_folder_a_class_gives_labels_in_alphabetical_order(write):
    root = write(dog__2_DOT_png="", dog__1_DOT_JPG="", cat__deep__x_DOT_webp="", cat__notes_DOT_txt="")
    assert list(open_samples(root)) == [
        Sample("cat/deep/x.webp", root / "cat/deep/x.webp", 0),
        Sample("dog/1.JPG", root / "dog/1.JPG", 1),
        Sample("dog/2.png", root / "dog/2.png", 1),
    ]
    assert open_samples(root).classes == ("cat", "dog")


def test_a_class_without_images_keeps_its_place(write):
    root = write(ant__readme="", bee__1_DOT_png="")
    assert image_folder(root).classes == ("ant", "bee")
    assert image_folder(root).labels.tolist() == [1]


def test_hidden_files_and_folders_are_no_samples(write):
    root = write(_DOT_git__x_DOT_png="", cat___DOT_1_DOT_png="", cat__1_DOT_png="")
    assert list(image_folder(root).names) == ["cat/1.png"]


def test_images_without_folders_have_no_labels(write):
    samples = open_samples(write(b_DOT_png="", a_DOT_png=""))
    assert (list(samples.names), samples.labels, samples.classes) == (["a.png", "b.png"], None, None)


def test_images_beside_folders_are_refused(write):
    with pytest.raises(ValueError, match="has images beside folders; put each into the folder of its class"):
        image_folder(write(a_DOT_png="", cat__1_DOT_png=""))


def test_a_folder_without_images_is_refused(write):
    with pytest.raises(ValueError, match="has no images; it needs"):
        image_folder(write(cat__notes_DOT_txt=""))


def test_a_list_of_paths_and_numbers_has_the_models_labels(write):
    root = write(list_DOT_txt="a/1.jpg 7\n\na/two words.jpg\t-1\n")
    samples = open_samples(root / "list.txt")
    assert list(samples) == [
        Sample("a/1.jpg", root / "a/1.jpg", 7),
        Sample("a/two words.jpg", root / "a/two words.jpg", -1),
    ]
    assert samples.classes is None


def test_a_list_may_name_classes_instead(write):
    samples = open_samples(write(list_DOT_txt="1.jpg dog\n2.jpg cat") / "list.txt")
    assert (samples.labels.tolist(), samples.classes) == ([1, 0], ("cat", "dog"))


def test_a_list_of_paths_alone_has_no_labels(write):
    samples = open_samples(write(list_DOT_txt="./1.jpg\n2.jpg") / "list.txt")
    assert (samples.kind, list(samples.names), samples.labels) == ("image", ["./1.jpg", "2.jpg"], None)


def test_other_lines_are_texts(write):
    samples = open_samples(write(list_DOT_txt="how are you\nfine 1") / "list.txt")
    assert list(samples) == [Sample("0", "how are you", None), Sample("1", "fine 1", None)]


def test_a_line_without_a_label_is_told(write):
    with pytest.raises(ValueError, match=r"list.txt has '2.jpg' as line 2; an image's path and its label are needed"):
        open_samples(write(list_DOT_txt="1.jpg 0\n2.jpg") / "list.txt")


def test_an_empty_list_is_told(write):
    with pytest.raises(ValueError, match="is empty"):
        open_samples(write(list_DOT_txt="\n") / "list.txt")


def test_a_table_of_texts_may_have_labels_and_names(write):
    samples = open_samples(write(t_DOT_csv='text,label,name\n"well, yes",yes,q1\nno,no,q2\n') / "t.csv")
    assert list(samples) == [Sample("q1", "well, yes", 1), Sample("q2", "no", 0)]
    assert samples.classes == ("no", "yes")


def test_a_table_may_have_pairs_of_texts(write):
    samples = open_samples(write(t_DOT_tsv="text\ttext_pair\tlabel\nrain\twet\t0\n") / "t.tsv")
    assert list(samples) == [Sample("0", ("rain", "wet"), 0)]


def test_a_table_of_paths_is_one_of_images(write):
    root = write(t_DOT_csv="path,label\na/1.jpg,3\n")
    assert list(open_samples(root / "t.csv")) == [Sample("a/1.jpg", root / "a/1.jpg", 3)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("question,label\nwhy,0\n", "t.csv has the columns question, label; exactly one of path and text is needed"),
        ("path,text\na.jpg,why\n", "has the columns path, text; exactly one"),
        ("", "has the columns nothing"),
        ("text,label\nwhy,0\nhow\n", "has another number of values in row 2 than columns"),
        ("text,label\nwhy,0,1\n", "has another number of values in row 1 than columns"),
    ],
)
def test_a_table_that_cannot_be_read_says_why(write, text, message):
    with pytest.raises(ValueError, match=message):
        open_samples(write(t_DOT_csv=text) / "t.csv")


def test_another_kind_of_file_is_refused(write):
    with pytest.raises(ValueError, match=r"data is a folder of images, a \.txt, \.csv or \.tsv file, or a data"):
        open_samples(write(x_DOT_json="") / "x.json")


def test_a_file_that_is_not_there_is_told(tmp_path):
    with pytest.raises(FileNotFoundError, match="there is no such file"):
        open_samples(tmp_path / "absent.csv")


def test_a_table_that_was_written_is_read_as_the_same(tmp_path):
    texts = Samples("text", [("a, b", "c\nd"), ("e", 'f "g"')], ["1", "2"], np.array([1, 0]), ("no", "yes"))
    write_table(texts, tmp_path / "t.csv")
    assert list(open_samples(tmp_path / "t.csv")) == list(texts)


def test_a_written_table_of_images_has_whole_paths(write, tmp_path):
    samples = image_folder(write(photos__cat__1_DOT_png="", photos__dog__2_DOT_png="") / "photos")
    write_table(samples, tmp_path / "t.csv")
    again = open_samples(tmp_path / "t.csv")
    assert (list(again), again.classes) == (list(samples), ("cat", "dog"))
