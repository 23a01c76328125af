"""Reads the files of --vtk with VTK's own reader and compares them with --field. Argument: the program fdtd.

Ends with 0, or 1 and what differs, or 4 and why it was skipped.
"""

import csv
import json
import struct
import subprocess
import sys
import tempfile
import xml.etree.ElementTree
from pathlib import Path

try:
    from vtkmodules.vtkFiltersCore import vtkCellCenters
    from vtkmodules.vtkIOXML import vtkXMLImageDataReader
except ImportError as absent:
    print(f"skipped: {absent} (Debian: python3-vtk9)")
    sys.exit(4)

NX, NY, DX, DY = 24, 18, 0.01, 0.02
DT = 1e-11
SCENE = {
    "nx": NX, "ny": NY, "dx": DX, "dy": DY, "dt": DT, "steps": 30,
    "materials": [{"name": "vacuum"}, {"name": "glass", "eps_r": 4}],
    "shapes": [{"material": "glass", "rectangle": [2, 3, 9, 7]}],
    "boundary": {"right": {"type": "pml", "cells": 5}},
    "frames": {"every": 10},
}


def check(right, what):
    if not right:
        print(what)
        sys.exit(1)


def image_of(path):
    reader = vtkXMLImageDataReader()
    check(reader.CanReadFile(str(path)), f"{path}: VTK cannot read it")
    reader.SetFileName(str(path))
    reader.Update()
    check(reader.GetErrorCode() == 0, f"{path}: VTK reports error {reader.GetErrorCode()}")
    return reader.GetOutput()


def compare(image, rows, names):
    """The numbers of an image, cell by cell, with the lines of a CSV file."""
    check(image.GetDimensions() == (NX + 1, NY + 1, 1), f"dimensions {image.GetDimensions()}")
    check(image.GetSpacing()[:2] == (DX, DY), f"spacing {image.GetSpacing()}")
    check(image.GetNumberOfCells() == len(rows) == NX * NY, f"{image.GetNumberOfCells()} cells, {len(rows)} lines")
    centers = vtkCellCenters()
    centers.SetInputData(image)
    centers.Update()
    cells = image.GetCellData()
    found = [cells.GetArrayName(i) for i in range(cells.GetNumberOfArrays())]
    check(found == names + ["material"], f"arrays {found}")
    for k, row in enumerate(rows):
        at = centers.GetOutput().GetPoint(k)
        off = max(abs(at[0] - float(row["x"])), abs(at[1] - float(row["y"])))
        check(off < 1e-9, f"cell {k} is at {at}: {row}")
        for name in names:  # nine digits tell every float
            number = struct.unpack("f", struct.pack("f", float(row[name])))[0]
            check(cells.GetArray(name).GetTuple1(k) == number, f"cell {k}: {name} is not that of {row}")
        i, j = k % NX, k // NX
        glass = 2 <= i < 9 and 3 <= j < 7
        check(cells.GetArray("material").GetTuple1(k) == glass, f"cell {k} has another material")


def main(program):
    for mode, names in ("TE", ["Hz", "Ex", "Ey"]), ("TM", ["Ez", "Hx", "Hy"]):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            source = {"field": names[0], "at": [12, 5], "kind": "hard", "waveform": {"type": "book"}}
            (folder / "scene.json").write_text(json.dumps({"mode": mode, "sources": [source], **SCENE}))
            subprocess.run([program, "--scene", folder / "scene.json", "--variant", "cpu_sequential", "--repeat", "1",
                            "--vtk", folder / "vtk", "--field", folder / "field.csv"],
                           check=True, stdout=subprocess.DEVNULL)
            with open(folder / "field.csv", newline="") as file:
                rows = list(csv.DictReader(file))
            for component in names:
                check(any(float(row[component]) != 0 for row in rows), f"{component} is 0 everywhere")
            series = xml.etree.ElementTree.parse(folder / "vtk" / "series.pvd").getroot()
            check(series.attrib["type"] == "Collection", "series.pvd is no collection")
            sets = series.findall("Collection/DataSet")
            check([s.attrib["file"] for s in sets] == [f"field-{step:06}.vti" for step in (10, 20, 30)], "other files")
            for step, s in zip((10, 20, 30), sets):
                time = float(s.attrib["timestep"])
                check(abs(time / (step * DT) - 1) < 1e-8, f"{s.attrib} is not the time of {step}")
            images = [image_of(folder / "vtk" / s.attrib["file"]) for s in sets]
            compare(images[-1], rows, names)
            first, last = (image.GetCellData().GetArray(names[0]) for image in (images[0], images[-1]))
            check(any(first.GetTuple1(k) != last.GetTuple1(k) for k in range(NX * NY)), "the field does not change")


if __name__ == "__main__":
    main(sys.argv[1])
