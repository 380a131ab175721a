"""The paper's tables and figures as protocols that run on predictions files, its own figures beside what they give."""

from proxcal.experiments.reproduce.protocols import METHODS, PROTOCOLS, Need, Protocol, find_protocol
from proxcal.experiments.reproduce.reproduction import Reproduction, reproduce

__all__ = ["METHODS", "PROTOCOLS", "Need", "Protocol", "Reproduction", "find_protocol", "reproduce"]
