"""Keep a long chat full of tool calls below a budget in three ways, and compare what the tokens cost."""

from itertools import takewhile

from promptkit import AssistantMessage, Prompt, SystemMessage, ToolCall, ToolResponse, ToolResponseMessage, UserMessage
from promptkit.history import check_history, count_tokens, filter_messages, trim_messages, trim_to_window

PRICE, CACHED = 3.00, 0.30  # dollars for a million tokens; a beginning that the provider saw before is cheaper


def grown(prompt: Prompt, number: int) -> Prompt:
    call = ToolCall(f"call_{number}", "weather", arguments={"city": f"City {number}"})
    turn = [
        UserMessage(f"How is the weather in City {number}?"),
        AssistantMessage(tool_calls=[call]),
        ToolResponseMessage(ToolResponse(call.id, "weather", content="hour by hour: " + "12 degrees, windy; " * 40)),
        AssistantMessage(f"City {number} has 12 degrees and wind."),
    ]
    return prompt.mutate(messages=[*prompt, *turn])


WAYS = {
    "not at all": filter_messages(),
    "to 40 messages": trim_messages(max_tokens=40, counter="messages"),
    "to 6,000 tokens": trim_messages(max_tokens=6_000, counter="approximate"),
    "to a window": trim_to_window(high=6_000, low=3_000, counter="approximate"),
}
for way, trimmer in WAYS.items():
    prompt = Prompt(SystemMessage("You report the weather. " * 50))
    fresh = cached = 0
    for number in range(60):
        sent, prompt = prompt, trimmer.invoke(grown(prompt, number))
        assert not check_history(prompt, "openai")
        same = len([*takewhile(lambda pair: pair[0] == pair[1], zip(sent, prompt, strict=False))])
        cached += count_tokens(prompt[:same], "approximate")
        fresh += count_tokens(prompt[same:], "approximate")
    dollars = (fresh * PRICE + cached * CACHED) / 1_000_000
    print(f"trimmed {way:15}  {fresh:7,} tokens at full price  {cached:7,} from the cache  ${dollars:.2f}")
