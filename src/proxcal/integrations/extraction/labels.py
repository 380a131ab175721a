"""Which of a model's classes a label of the data is: the step where a silent mistake makes every number wrong.

Data that numbers its classes is taken at its word. Data that names them (folders, a column of names) is matched by
name with the order given, or else with the model's own names; where neither is there, the alphabetical order of the
data's names must be the model's, as it is for ImageNet's folders.
"""

import warnings
from collections.abc import Sequence
from dataclasses import replace

from proxcal._validation import ProxcalWarning
from proxcal.datasets.samples import Samples
from proxcal.integrations.extraction.network import Network


def labels_for(samples: Samples, network: Network, classes: Sequence[str] | None) -> Samples:
    """The samples, their labels the places of the model's classes."""
    if samples.labels is None or samples.classes is None:
        return samples
    if classes is not None:
        return samples.in_order_of(classes)
    if network.classes is None:
        return samples
    known = {name.casefold(): name for name in network.classes}
    if len(known) == len(network.classes) and all(name.casefold() in known for name in samples.classes):
        spelled = replace(samples, classes=tuple(known[name.casefold()] for name in samples.classes))
        return spelled.in_order_of(network.classes)
    warnings.warn(
        f"the data's classes ({samples.classes[0]}, …) are not called as the model's ({network.classes[0]}, …): they"
        " are taken to be in the same order; --classes FILE says which is which",
        ProxcalWarning,
        stacklevel=2,
    )
    return samples
