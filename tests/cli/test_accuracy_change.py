from proxcal.cli._accuracy_change import accuracy_change


def test_shares_become_percent_and_points_with_their_sign():
    assert accuracy_change({"changed": 0.0712, "change": 0.013, "low": -0.002, "high": 0.028}) == (
        "change for 7.1 % of samples; accuracy +1.3 points, 95 % interval -0.2 to +2.8, on held-out folds"
    )


def test_where_nothing_changes_there_is_no_interval():
    said = accuracy_change({"changed": 0.0, "change": 0.0, "low": 0.0, "high": 0.0})
    assert said == "do not change on held-out folds"
