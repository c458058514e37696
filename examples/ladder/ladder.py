"""Four links, each with half the rate of the one before: does each carry its part?"""

PPS = [512, 256, 128, 64]
SECONDS = 20


def scenario():
    packets = sum(PPS) * SECONDS
    goodput = {"name": "goodput", "judge": "goodput", "min": 0.9}
    return {
        "name": "ladder",
        "title": "Four links, each with half the rate of the one before",
        "links": [{"name": f"step-{pps}", "rate": f"{pps}pps", "delay": "20ms"} for pps in PPS],
        "ncp": {"policy": "nkp24", "transfer": f"{packets}KiB", "send_window": "1MiB"},
        "checks": [{"name": "payload", "judge": "payload_intact"}, goodput],
        "quick": {"ncp.transfer": f"{packets // 4}KiB"},
    }
