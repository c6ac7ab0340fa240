"""The limits that figures draw: the least time at the smallest alpha and beta that plain fits find at one rank count.

The fit is Hockney's at one number of ranks: T = alpha * messages + beta * bytes, both counted along the critical path
of the schedule; beta holds the time to reduce a byte, too. A parameter that is not identified at all is missing. Models
that hold over ranks are in `models`.
"""

import numpy as np
import pandas as pd
from scipy.optimize import nnls

from ..schedule.price import bound_path

MIN_SIZES = 3  # two parameters need more than two sizes, or the model agrees with whatever was measured
SCHEDULE, LOWER_BOUNDS = "its schedule", "the lower bounds"
KEYS = ["run", "ranks", "algorithm", "executor", "cache"]


def fit(summary: pd.DataFrame) -> pd.DataFrame:
    """Fit alpha and beta for each (run, ranks, algorithm, executor, cache) of `store.summary`, in its order.

    Minimises sum(((alpha * messages + beta * nbytes) / time_s - 1)^2) over the sizes with alpha, beta >= 0: relative
    errors, because times span five decades and absolute ones would fit the largest size only. Columns beside the keys:

    * `against`: whose messages and bytes were counted; native shows no schedule, so its alpha and beta are effective
      ones against the lower bounds, ceil(log2 p) messages and 2(p-1)/p * nbytes bytes
    * `points`: number of sizes with a time
    * `alpha_s`, `beta_s_per_byte`: NaN where not identified (the best value is the bound 0), or where there is no fit
    * `median_error`: median of |model / measured - 1| over the sizes
    * `reason`: why there is no fit at all; NA where there is one
    """
    groups = summary.groupby(KEYS, sort=False)
    rows = [{**dict(zip(KEYS, key)), **_fit_one(group)} for key, group in groups]
    columns = [*KEYS, "against", "points", "alpha_s", "beta_s_per_byte", "median_error", "reason"]
    return pd.DataFrame(rows, columns=columns).astype({"reason": "string", "ranks": "int64", "points": "int64"})


def solve(messages: np.ndarray, nbytes: np.ndarray, time_s: np.ndarray) -> tuple[float, float]:
    """Alpha in s and beta in s/byte by relative non-negative least squares; NaN for what is not identified.

    All three are float64 [size]. Where messages and bytes grow in step, neither is identified: both are NaN.
    """
    relative = np.column_stack([messages, nbytes]) / time_s[:, None]
    scale = np.linalg.norm(relative, axis=0)
    if not scale.all() or np.linalg.matrix_rank(relative / scale, tol=1e-6) < 2:
        return np.nan, np.nan
    found, _ = nnls(relative / scale, np.ones(len(time_s)))
    alpha_s, beta_s_per_byte = np.where(found > 0, found / scale, np.nan)
    return float(alpha_s), float(beta_s_per_byte)


def predict_time(messages, nbytes, alpha_s: float, beta_s_per_byte: float):
    """Seconds by the model; a parameter that is not identified (NaN) adds nothing. Arrays or numbers."""
    return np.nan_to_num(alpha_s) * messages + np.nan_to_num(beta_s_per_byte) * nbytes


def lower_bound(nbytes, ranks: int, alpha_s: float, beta_s_per_byte: float):
    """The least seconds that an all-reduce of `nbytes` (number or array) over `ranks` can take at this alpha and beta.

    Latency: ceil(log2 p) * alpha, since each message at most doubles the ranks that know of one value. Bandwidth:
    2(p-1)/p * nbytes * beta, since each rank's bytes have to leave it to be reduced, and the result has to come back.
    Each holds by itself, so the greater of the two is safe. NaN for a parameter takes its bound away.

    Sources: Chan, Heimlich, Purkayastha, van de Geijn, "Collective communication: theory, practice, and experience",
    2007, section 3; Patarasuk and Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations", 2009.
    """
    messages, moved = bound_path(nbytes, ranks)
    return np.fmax(messages * alpha_s, moved * beta_s_per_byte)


def cheapest(fits: pd.DataFrame) -> pd.DataFrame:
    """The smallest fitted alpha_s and beta_s_per_byte of each (run, ranks), whichever algorithms they come from."""
    return fits.groupby(["run", "ranks"], sort=False, as_index=False)[["alpha_s", "beta_s_per_byte"]].min()


def bounds(fits: pd.DataFrame, smallest: float, largest: float) -> pd.DataFrame:
    """The lower bound at the `cheapest` parameters, to be drawn from `smallest` to `largest` bytes (both above 0).

    Columns: run, ranks, nbytes, time_s, busbw_bytes_per_s (bytes of the bandwidth bound per second of the whole bound).
    NaN where nothing was fitted.
    """
    nbytes = np.geomspace(smallest, largest, 200)
    curves = []
    for row in cheapest(fits).to_dict("records"):
        time_s = lower_bound(nbytes, row["ranks"], row["alpha_s"], row["beta_s_per_byte"])
        _, moved = bound_path(nbytes, row["ranks"])
        curve = {"nbytes": nbytes, "time_s": time_s, "busbw_bytes_per_s": moved / time_s}
        curves.append(pd.DataFrame({"run": row["run"], "ranks": row["ranks"], **curve}))
    return pd.concat(curves, ignore_index=True)


def path_of(rows: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """Messages and bytes on the critical path, float64 [row], NaN if unknown; `rows` are of one algorithm at one p."""
    first = rows.iloc[0]
    if is_native(first["algorithm"]):
        messages, moved = bound_path(rows["nbytes"].to_numpy(float), int(first["ranks"]))
        return np.full(len(rows), float(messages)), moved
    messages, moved = (rows[name].to_numpy(float, na_value=np.nan) for name in ("path_messages", "path_nbytes"))
    return messages, moved


def is_native(algorithm: str) -> bool:
    """Whether the library itself runs the all-reduce, by a schedule that it does not show."""
    return algorithm.split(":")[0] == "native"


def _fit_one(group: pd.DataFrame) -> dict:
    """Everything but the keys of one row of `fit`."""
    timed = group[group["time_s"] > 0]
    result = {
        "against": LOWER_BOUNDS if is_native(group["algorithm"].iloc[0]) else SCHEDULE,
        "points": len(timed),
        "alpha_s": np.nan,
        "beta_s_per_byte": np.nan,
        "median_error": np.nan,
        "reason": None,
    }
    if group["groups"].notna().any():
        return result | {"reason": "several groups at the same time share links, which is another model"}
    if group["ranks"].iloc[0] == 1:
        return result | {"reason": "one rank sends no messages"}
    if timed["nbytes"].nunique() < MIN_SIZES:
        return result | {"reason": f"fewer than {MIN_SIZES} sizes were measured"}
    (messages, nbytes), time_s = path_of(timed), timed["time_s"].to_numpy(float)
    if np.isnan(messages).any() or np.isnan(nbytes).any():
        return result | {"reason": "its messages and bytes are not known"}
    alpha_s, beta_s_per_byte = solve(messages, nbytes, time_s)
    if np.isnan(alpha_s) and np.isnan(beta_s_per_byte):
        return result | {"reason": "messages and bytes grow in step, so alpha and beta cannot be told apart"}
    error = np.abs(predict_time(messages, nbytes, alpha_s, beta_s_per_byte) / time_s - 1)
    return result | {"alpha_s": alpha_s, "beta_s_per_byte": beta_s_per_byte, "median_error": float(np.median(error))}
