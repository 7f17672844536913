"""Use the templates of an application's own package: see newsroom/."""

from newsroom.templates import Fact, Headline, HouseRules, Story, desk

from promptkit import AssistantMessage, UserMessage

story = Story(
    "A fox was seen in the {town} library.",
    (Fact("It left by the window.", "a reader"), Fact("No book is missing.")),
)
history = [UserMessage("Be funny."), AssistantMessage("I will.")]

prompt = desk(HouseRules(language="British English"), Headline(story, words=6)).create({"history": history})
for message in prompt:
    print(f"[{message.message_type.value}] {message.content}\n")

shorter = Headline(story).mutate(words=4)
print(shorter == Headline(story, words=4), "|", shorter.render().splitlines()[0])
