"""The demonstration: the 22 NetFlow reports with the plugin off and on."""

from phantoms.lab.demo.run import DemoResult, run

__all__ = ["DemoResult", "run"]
