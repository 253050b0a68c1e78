"""Files of ranks with mpi4py's names."""

import numpy
import pytest

from motet.comm import World
from motet.mpi4py import MPI


def on(ranks, main):
    return World.threads(ranks).run(lambda _: main(MPI.COMM_WORLD))


def test_sem_g500_a_file_is_there_when_all_ranks_have_closed_it(tmp_path):
    path = tmp_path / "squares"
    path.write_bytes(b"old")

    def main(comm):
        file = MPI.File.Open(comm, path, MPI.MODE_RDWR | MPI.MODE_CREATE)
        file.Set_size(0)
        # Each rank sees every third number.
        third = MPI.DOUBLE.Create_vector(1, 1, 3).Create_resized(0, 24)
        file.Set_view(8 * comm.rank, MPI.DOUBLE, third)
        file.Write_at_all(0, numpy.arange(4.0) + 10 * comm.rank)
        file.Sync()
        before = path.read_bytes()
        file.Set_view(0, MPI.DOUBLE)
        room, status = numpy.zeros(20), MPI.Status()
        file.Read_at_all(0, room, status)
        file.Close()
        return before, room[:5].tolist(), status.Get_count(MPI.DOUBLE)

    found = on(3, main)
    assert found == [(b"old", [0, 10, 20, 1, 11], 12)] * 3
    numbers = numpy.fromfile(path)
    assert numbers.tolist() == [10.0 * rank + row for row in range(4) for rank in range(3)]
    assert [file.name for file in tmp_path.iterdir()] == ["squares"]


def test_sem_g500_a_rank_may_see_nothing_of_a_file(tmp_path):
    path = tmp_path / "rows"

    def main(comm):
        # Two rows on three ranks.
        rows, first = int(comm.rank < 2), min(comm.rank, 2)
        file = MPI.File.Open(comm, path, MPI.MODE_RDWR | MPI.MODE_CREATE)
        file.Set_view(0, MPI.DOUBLE, MPI.DOUBLE.Create_subarray([2], [rows], [first]))
        file.Write_at_all(0, numpy.full(rows, comm.rank + 1.0))
        room, status = numpy.zeros(2), MPI.Status()
        file.Read_at_all(0, room, status)
        if not rows:
            for call in lambda: file.Write_at(0, room), lambda: file.Get_byte_offset(0):
                with pytest.raises(MPI.Exception, match="shows nothing"):
                    call()
        file.Close()
        return room.tolist(), status.Get_count(MPI.DOUBLE)

    assert on(3, main) == [([1, 0], 1), ([2, 0], 1), ([0, 0], 0)]
    assert numpy.fromfile(path).tolist() == [1, 2]


def test_what_was_begun_of_a_file_is_ended_by_its_own_name(tmp_path):
    def main(comm):
        file = MPI.File.Open(comm, tmp_path / "file", MPI.MODE_RDWR | MPI.MODE_CREATE)
        file.Write_all(b"01234567")
        file.Seek(0)
        room, status = bytearray(4), MPI.Status()
        file.Read_all_begin(room)
        with pytest.raises(MPI.Exception, match="Read_all_begin was called before"):
            file.Read_all_begin(room)
        # What was refused has read nothing.
        at = file.Get_position()
        with pytest.raises(MPI.Exception, match="Write_all_begin was not called"):
            file.Write_all_end(room)
        file.Read_all_end(room, status)
        file.Close()
        return at, bytes(room), status.Get_count()

    assert on(2, main) == [(4, b"0123", 4)] * 2


def test_sem_g500_ranks_write_one_behind_the_other_and_share_a_place(tmp_path):
    path = tmp_path / "lines"

    def main(comm):
        file = MPI.File.Open(comm, path, MPI.MODE_WRONLY | MPI.MODE_CREATE)
        file.Write_ordered(b"rank %d\n" % comm.rank)
        file.atomicity = True
        file.Write_shared(b"shared\n")
        file.Close()
        file = MPI.File.Open(comm, path)
        first, line = bytearray(7), bytearray(7)
        file.Read_ordered(first)
        file.Seek(7 * comm.rank)
        file.Read(line)
        at = file.Get_position(), file.Get_position_shared()
        file.Close()
        return bytes(first), bytes(line), at

    found = on(3, main)
    assert found == [(b"rank %d\n" % rank,) * 2 + ((7 * rank + 7, 21),) for rank in range(3)]
    assert path.read_bytes() == b"rank 0\nrank 1\nrank 2\n" + b"shared\n" * 3


def test_sem_g500_the_common_place_moves_by_what_was_read(tmp_path):
    path = tmp_path / "six"
    path.write_bytes(b"012345")

    def main(comm):
        file = MPI.File.Open(comm, path)
        common, room, status = file._file, bytearray(4), MPI.Status()
        advance = common.advance

        def look(by):
            at = advance(by)
            # Both ranks have looked before one goes on.
            comm.Barrier()
            return at

        common.advance = look
        file.Read_shared(room, status)
        common.advance = advance
        comm.Barrier()
        got = status.Get_count(), bytes(room[: status.Get_count()])
        places = [file.Get_position_shared()]
        for call in file.Read_ordered, file.Read_shared:
            call(room, status)
            places += status.Get_count(), file.Get_position_shared()
        with pytest.raises(MPI.Exception, match="MODE_RDONLY"):
            file.Write_shared(b"x")
        places.append(file.Get_position_shared())
        file.Close()
        return got, places

    found = on(2, main)
    assert sorted(got for got, _ in found) == [(2, b"45"), (4, b"0123")]
    assert [places for _, places in found] == [[6, 0, 6, 0, 6, 6]] * 2


def test_sem_g500_an_ordered_read_ends_where_the_common_place_is(tmp_path):
    path = tmp_path / "three"
    path.write_bytes(b"012")

    def main(comm):
        file = MPI.File.Open(comm, path, MPI.MODE_RDWR)
        common, room, status = file._file, bytearray(2), MPI.Status()
        seen = common.view.seen

        def look(_):
            # Rank 0 has read its part meanwhile, and has written behind the common place.
            comm.recv(source=0)
            return seen(common.handle.size())

        if comm.rank == 1:
            common.view.seen = look
        file.Read_ordered(room, status)
        if comm.rank == 0:
            file.Write_at(3, b"345")
            comm.send(None, 1)
        place = file.Get_position_shared()
        file.Close()
        count = status.Get_count()
        return bytes(room[:count]), place

    assert on(2, main) == [(b"01", 3), (b"2", 3)]


def test_sem_g500_what_cannot_be_opened_or_written_is_an_error_of_mpi(tmp_path):
    path = tmp_path / "file"

    def raises(name, call, *arguments):
        with pytest.raises(MPI.Exception) as raised:
            call(*arguments)
        assert raised.value.Get_error_class() == getattr(MPI, name), raised.value

    def main(comm):
        opens = MPI.File.Open
        raises("ERR_NO_SUCH_FILE", opens, comm, path)
        raises("ERR_NO_SUCH_FILE", opens, comm, path, MPI.MODE_RDWR)
        raises("ERR_BAD_FILE", opens, comm, tmp_path)
        raises("ERR_AMODE", opens, comm, path, MPI.MODE_RDWR | MPI.MODE_RDONLY)
        comm.Barrier()
        file = opens(comm, path, MPI.MODE_WRONLY | MPI.MODE_CREATE)
        raises("ERR_ACCESS", file.Read, bytearray(1))
        raises("ERR_UNSUPPORTED_DATAREP", file.Set_view, 0, MPI.BYTE, MPI.BYTE, "external32")
        file.Close()
        raises("ERR_FILE", file.Get_size)
        file = opens(comm, path)
        raises("ERR_READ_ONLY", file.Write, b"x")
        file.Close()
        exclusive = MPI.MODE_WRONLY | MPI.MODE_CREATE | MPI.MODE_EXCL
        raises("ERR_FILE_EXISTS", opens, comm, path, exclusive)

    on(2, main)
    assert path.read_bytes() == b""


def test_sem_g545_a_file_has_no_negative_length(tmp_path):
    def main(comm):
        amode = MPI.MODE_CREATE | MPI.MODE_RDWR
        file = MPI.File.Open(comm, tmp_path / "file", amode)
        file.Write_at_all(0, numpy.arange(2, dtype="i4"))
        classes = []
        for call in (file.Set_size, file.Preallocate):
            with pytest.raises(MPI.Exception) as negative:
                call(-1)
            classes.append(negative.value.Get_error_class())
        size = file.Get_size()
        file.Close()
        return classes, size

    assert on(1, main) == [([MPI.ERR_ARG, MPI.ERR_ARG], 8)]
