import pytest

from proxcal.datasets import imagenet, imagenet_c, imagenet_lt, imagenet_sketch

SYNSETS = [f"n{1440764 + 37 * i:08d}" for i in range(1000)]


@pytest.fixture
def root(tmp_path):
    return tmp_path


def folders(root, part, n=1000):
    """A folder for each synset; an image in the first and two in the last."""
    for name in SYNSETS[:n]:
        (root / part / name).mkdir(parents=True)
    for name in (f"{SYNSETS[0]}/a.JPEG", f"{SYNSETS[n - 1]}/b.JPEG", f"{SYNSETS[n - 1]}/c.JPEG"):
        (root / part / name).touch()
    return root


@pytest.mark.parametrize(
    ("load", "part", "arguments"),
    [
        (imagenet, "val", ()),
        (imagenet, "train", ("train",)),
        (imagenet_sketch, "sketch", ()),
        (imagenet_c, "gaussian_noise/3", ("gaussian_noise/3",)),
    ],
)
def test_labels_are_places_among_the_1000_synsets(root, load, part, arguments):
    samples = load(folders(root, part), *arguments)
    assert samples.labels.tolist() == [0, 999, 999]
    assert samples.names[1] == f"{SYNSETS[999]}/b.JPEG"
    assert samples.classes == tuple(SYNSETS)


def test_another_number_of_synsets_is_refused(root):
    with pytest.raises(ValueError, match=r"val has 3 folders; ImageNet has 1000, one for each synset \(another choice"):
        imagenet(folders(root, "val", 3))


def test_a_folder_that_is_no_synset_is_named(root):
    (folders(root, "val") / "val" / "extra").mkdir()
    with pytest.raises(ValueError, match="val has 1001 folders, 'extra' among them; ImageNet has 1000"):
        imagenet(root)


def test_images_that_were_not_sorted_into_synsets_are_told(root):
    (root / "val").mkdir()
    (root / "val" / "ILSVRC2012_val_00000001.JPEG").touch()
    with pytest.raises(ValueError, match=r"val has images without folders; ImageNet needs val/n01440764/….JPEG"):
        imagenet(root)


@pytest.mark.parametrize(
    ("load", "arguments", "message"),
    [
        (
            imagenet,
            (),
            r"has no folder val: ImageNet needs val/n01440764/….JPEG, .*obtained from https://image-net\.org",
        ),
        (imagenet, ("test",), "the part of ImageNet must be one of 'val', 'train'; got 'test'"),
        (imagenet_sketch, (), "has no folder sketch: ImageNet-Sketch needs sketch/n01440764/.*github.com/HaohanWang"),
        (imagenet_c, ("fog/1",), r"has no folder corruption/severity: ImageNet-C needs gaussian_noise/3/.*zenodo\.org"),
        (imagenet_lt, (), r"has no ImageNet_LT_test\.txt: ImageNet-LT needs ImageNet_LT_train\.txt.*liuziwei7"),
    ],
)
def test_what_is_missing_is_said_with_where_it_is_obtained(root, load, arguments, message):
    with pytest.raises(ValueError, match=message):
        load(root, *arguments)


@pytest.mark.parametrize("part", ["", "fog", "fog/6", "frost/1"])
def test_a_corruption_that_is_not_there_is_told_with_those_that_are(root, part):
    for name in ("fog/1", "fog/2", "snow/1"):
        (root / name).mkdir(parents=True)
    with pytest.raises(ValueError, match=rf"such as fog/1; got '{part}', and .* has fog, snow$"):
        imagenet_c(root, part)


LINES = "val/n01440764/a.JPEG 0\nval/n15075141/b.JPEG 999\n"


def test_the_long_tails_lists_have_their_own_numbers(root):
    (root / "ImageNet_LT_test.txt").write_text(LINES)
    (root / "val" / "n01440764").mkdir(parents=True)
    (root / "val" / "n01440764" / "a.JPEG").touch()
    samples = imagenet_lt(root)
    assert (samples.labels.tolist(), samples.classes) == ([0, 999], None)
    assert samples.contents[1] == root / "val/n15075141/b.JPEG"


def test_lists_without_the_images_are_told(root):
    (root / "ImageNet_LT_val.txt").write_text(LINES)
    with pytest.raises(ValueError, match=r"has no val/n01440764/a\.JPEG, which its list names: ImageNet-LT needs"):
        imagenet_lt(root, "val")


@pytest.mark.parametrize("lines", ["a.JPEG 1000\n", "a.JPEG\n", "a.JPEG 1\nb.JPEG -1\n"])
def test_a_list_of_something_else_is_refused(root, lines):
    (root / "ImageNet_LT_test.txt").write_text(lines)
    with pytest.raises(ValueError, match="needs an image and a number from 0 to 999 in each line"):
        imagenet_lt(root)
