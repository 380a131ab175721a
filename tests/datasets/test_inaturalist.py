import json

import pytest

from proxcal.datasets import inaturalist

IMAGES = [{"id": 7, "file_name": "val/00001_Fungi/b.jpg"}, {"id": 3, "file_name": "val/00000_Animalia/a.jpg"}]
ANNOTATIONS = [{"id": 0, "image_id": 3, "category_id": 0}, {"id": 1, "image_id": 7, "category_id": 1}]
CATEGORIES = [{"id": 1, "name": "Amanita muscaria"}, {"id": 0, "name": "Lumbricus terrestris"}]
WHOLE = {"info": {}, "images": IMAGES, "annotations": ANNOTATIONS, "categories": CATEGORIES}


def saved(write, held, *images, part="val"):
    return write({f"{part}.json": held if isinstance(held, str) else json.dumps(held), **dict.fromkeys(images, "")})


def test_images_have_the_species_of_their_annotations(write):
    root = saved(write, WHOLE, "val/00001_Fungi/b.jpg")
    samples = inaturalist(root)
    assert samples.labels.tolist() == [1, 0]
    assert samples.classes == ("Lumbricus terrestris", "Amanita muscaria")
    assert samples.contents[0] == root / "val/00001_Fungi/b.jpg"
    assert samples.names[1] == "val/00000_Animalia/a.jpg"


def test_another_part_has_a_file_of_its_own(write):
    assert len(inaturalist(saved(write, WHOLE, "val/00001_Fungi/b.jpg", part="train_mini"), "train_mini")) == 2


@pytest.mark.parametrize(
    ("held", "message"),
    [
        ("{", r"val\.json is no JSON .*; is it cut short\?"),
        (
            {"images": IMAGES, "categories": CATEGORIES},
            "has no annotations; images, annotations, categories are",
        ),
        (WHOLE | {"annotations": ANNOTATIONS[:1]}, "names the image or the category 7 and says nothing of it"),
        (
            WHOLE,
            r"has no val/00001_Fungi/b\.jpg, which its list names: iNaturalist 2021 needs val\.json and",
        ),
    ],
)
def test_what_is_wrong_is_said(write, held, message):
    with pytest.raises(ValueError, match=message):
        inaturalist(saved(write, held))


def test_what_is_missing_is_said_with_where_it_is_obtained(tmp_path):
    with pytest.raises(
        ValueError, match=r"has no val\.json: iNaturalist 2021 needs .*obtained from https://github\.com"
    ):
        inaturalist(tmp_path)
