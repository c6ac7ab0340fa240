"""Models of runs on virtual hosts beside the rate to which the links were set."""

from collections.abc import Sequence

from ..lab.build import PAYLOAD_SHARE
from ..machine.virtual_hosts import describe
from ..models.series import FittedSeries
from ..runs.folder import RunFolder


def lab_sentences(folders: Sequence[RunFolder], fitted: Sequence[FittedSeries]) -> list[str]:
    """For each run on virtual hosts what its links were set to, and how far each fitted beta is from it."""
    sentences = []
    for folder in folders:
        rates = folder.plan().start.virtual_rates_bytes_per_s
        if not rates:
            continue
        set_s_per_byte = 1 / (min(rates) * PAYLOAD_SHARE)
        betas = {
            series.model.algorithm: parameter.value
            for series in fitted
            if series.model.run == folder.path.name or len(folders) == 1
            for part in series.model.parts[:1]
            for parameter in part.parameters
            if parameter.name == "beta_s_per_byte" and not parameter.above and parameter.identified
        }
        found = [f"{name} {beta * 1e12:.0f} ({beta / set_s_per_byte - 1:+.1%})" for name, beta in betas.items()]
        sentences.append(
            f"{folder.path.name}: {describe(rates)}: they are set to a beta of {set_s_per_byte * 1e12:.0f} ps/byte "
            f"(headers take {1 - PAYLOAD_SHARE:.1%}); fitted: {', '.join(found) or 'none identified'}"
        )
    return sentences
