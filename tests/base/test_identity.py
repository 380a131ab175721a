import numpy as np
from scipy.special import softmax

from proxcal.base.identity import Identity


def test_logits_become_their_softmax(simulate):
    logits, labels = simulate()
    probs = Identity().fit(logits, labels).predict_proba(logits)
    np.testing.assert_allclose(probs, softmax(logits, axis=1), rtol=1e-13)


def test_probabilities_stay_what_they_are(simulate):
    logits, labels = simulate()
    given = softmax(logits, axis=1)
    np.testing.assert_allclose(Identity(input="probs").fit(given, labels).predict_proba(given), given, rtol=1e-13)


def test_float16_probabilities_are_made_to_sum_to_one(simulate):
    logits, labels = simulate()
    given = softmax(logits, axis=1).astype(np.float16)
    probs = Identity(input="probs").fit(given, labels).predict_proba(given)
    np.testing.assert_allclose(probs.sum(axis=1), 1, atol=1e-14)
