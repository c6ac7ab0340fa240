"""Which environment variables are kept, and what of commands that set some."""

import pytest

from allreduce_bench.machine.variables import KEY_OF_JOB, NOT_STORED, allowed_variables, drop_values


def test_only_variables_on_the_list_are_read():
    environ = {
        "OMPI_MCA_btl": "tcp",
        "AWS_SECRET": "x",
        "OMPI_MCA_pmix_auth_token": "x",
        "UCX_PASSWORD": "x",
        "SLURM_JOB_ID": "7",
        "OMPI_MCA_initial_wdir": "/home",
    }
    assert allowed_variables(environ) == {"OMPI_MCA_btl": "tcp", "SLURM_JOB_ID": "7"}


USUAL = {
    "UCX_NET_DEVICES": "mlx5_0:1,mlx5_1:1",
    "UCX_IB_PKEY": "0x8001",
    "UCX_LOG_FILE": "/scratch/user/ucx.%h.%p.log",
    "UCX_KEYVAL": "pairs",
    "OMPI_MCA_btl_tcp_if_include": "eth0,10.0.0.0/24",
    "OMPI_MCA_btl": "^openib,uct",
    "OMPI_MCA_orte_hnp_uri": "1234567890.0;tcp://10.0.0.1,192.168.1.1:40123",
    "MPIR_CVAR_CH4_OFI_ENABLE_MR_PROV_KEY": "-1",
    "MPICH_OFI_NIC_MAPPING": "0:0-15;1:16-31",
    "I_MPI_AUTH_METHOD": "delegate",
    "FI_PSM3_UUID": "d6f63a82-59c8-4b1d-9a1b-3fd0a1b2c3d4",
    "PSM2_DEVICES": "self,shm,hfi",
    "OMP_PLACES": "{0:4},{4:4},{8:4}",
    "GLOO_SOCKET_IFNAME": "hsn0",
    "SLURM_JOB_NODELIST": "nid[001000-001003,001010],x1000c0s0b0n[0-1]",
    "SLURM_CPU_BIND": "quiet,mask_cpu:0x000000000000FFFF,0xFFFF000000000000",
    "PBS_JOBID": "1234567.pbs-server-01.example.org",
}


def test_usual_variables_are_kept_and_the_key_of_a_job_is_not():
    assert allowed_variables(USUAL) == dict(sorted(USUAL.items()))
    (kept,) = allowed_variables({KEY_OF_JOB: "3c9a0f4be1c3d5a7-8b6f1e2d3c4b5a69"}).values()
    assert kept == NOT_STORED


@pytest.mark.parametrize(
    "words, kept",
    [
        (["run", "--launcher-args", "-x TOKEN=hunter2 -x UCX_TLS=sm"], "-x TOKEN=not_stored -x UCX_TLS=sm"),
        (["--export=ALL,HF_TOKEN=hunter2,UCX_TLS=sm"], "--export=ALL,HF_TOKEN=not_stored,UCX_TLS=sm"),
        (["--launcher-args", "-genv MY_TOKEN hunter2 -n 2"], "-genv MY_TOKEN not_stored -n 2"),
        (["--launcher-args", "-x PASSWORD='hun ter2' -x UCX_TLS=b"], "-x PASSWORD=not_stored -x UCX_TLS=b"),
        (["--launcher-args", "-x 'PASSWORD=my hunter2' -n 2"], "-x PASSWORD=not_stored -n 2"),
        (["--launcher", "flux run --env=API_KEY=hunter2"], "flux run --env=API_KEY=not_stored"),
        (["--launcher", "UCX_TLS=sm API_KEY=hunter2 flux run"], "UCX_TLS=sm API_KEY=not_stored flux run"),
        (["--env=TOKEN=hunter2;hunter2"], "--env=TOKEN=not_stored"),
        (["--mca", "mca_base_env_list", "UCX_A=1;API_KEY=hunter2"], "UCX_A=1;API_KEY=not_stored"),
        (["--env", "PASSWORD=hunter2", "-n"], "-n"),
    ],
)
def test_values_of_variables_in_a_command_are_not_kept(words, kept):
    assert drop_values(words)[-1] == kept and "hunter2" not in " ".join(drop_values(words))


def test_usual_commands_are_kept_as_they_are():
    mpirun = "mpirun -n 4 --host n1:2,n2:2 --mca btl_tcp_if_include 10.0.0.0/24 -x UCX_TLS=sm --bind-to core --map-by"
    words = [*mpirun.split(), "ppr:2:node", "--hostfile", "a b", "--launcher-args", "--mca  pml ob1 -x TOKEN", "-o", ""]
    assert drop_values(words) == words
    assert drop_values(f"{name}={value}" for name, value in USUAL.items()) == [
        f"{name}={value}" for name, value in USUAL.items()
    ]
