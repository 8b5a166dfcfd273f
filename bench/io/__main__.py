"""`python -m bench.io QUESTION`: how fast files are written, read, converted, made and prepared."""

from bench.common.options import questions
from bench.io import checkpoint, convert, formatter, frames, prepare, reader, segments, setup, trajectory

main = questions(
    __doc__,
    checkpoint.checkpoint,
    segments.segments,
    frames.frames,
    reader.reader,
    trajectory.trajectory,
    convert.convert,
    formatter.formatter,
    setup.setup,
    prepare.prepare,
)

if __name__ == "__main__":
    main()
