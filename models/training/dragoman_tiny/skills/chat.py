"""Small talk and questions about Dragoman; also the few helpers that the other talking skills share."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from ..dialogue import Check, Dialogue, Split
from ..values import value

Patterns = dict[Split, Sequence[str]]


class Item(NamedTuple):
    """One question with its right answer, before it is put into a conversation."""

    skill: str
    user: str
    answer: str
    check: Check
    thought: str
    patterns: tuple[str, ...]
    slots: tuple[str, ...] = ()
    obeys: Check | None = None


def to_dialogue(item: Item, before: Sequence[tuple[str, str]] = (), system: str | None = None) -> Dialogue:
    """The conversation of an item, after other turns and under a system message."""
    messages = [{"role": "system", "content": system}] if system else []
    for user, assistant in before:
        messages += [{"role": "user", "content": user}, {"role": "assistant", "content": assistant}]
    messages += [{"role": "user", "content": item.user}, {"role": "assistant", "content": item.answer}]
    return Dialogue(item.skill, messages, item.check, thought=item.thought, slots=item.slots, patterns=item.patterns, obeys=item.obeys)


_PREFIXES = ["Hey, ", "Hi, ", "Hello, ", "Quick question: ", "Ok, ", "So, ", "Sorry, ", "One more thing: ", "A question: ", "Please, "]
_SUFFIXES = [" Thanks!", " Please.", " Thank you.", " Please answer."]


def an(text: str) -> str:
    """The text with the right article before the words of our lists that begin with a vowel."""
    return re.sub(r"\b([Aa]) (?=(?:umbrella|owl|ant|octopus|elephant)\b)", r"\1n ", text)


def lower_first(text: str) -> str:
    """The sentence as it reads behind a prefix."""
    return text if text.startswith(("I ", "Dragoman", "{", "ChatGPT")) else text[0].lower() + text[1:]


def dress(rng: random.Random, template: str, tail: bool = True) -> str:
    """A template with the small liberties people take; with `tail` false, its end stays as it is."""
    if rng.random() < 0.2:
        template = rng.choice(_PREFIXES) + lower_first(template)
    if tail and rng.random() < 0.15:
        if template[-1] in ".?":
            template = template[:-1]
    elif tail and rng.random() < 0.08:
        template = template + rng.choice(_SUFFIXES)
    if rng.random() < 0.2:
        template = template.lower()
    return template


def ask(rng: random.Random, split: Split, patterns: Patterns, tail: bool = True) -> tuple[str, str]:
    """A pattern of the split as it is, and as somebody types it."""
    pattern = rng.choice(patterns[split])
    return pattern, dress(rng, pattern, tail)


# Small talk: name -> (answer, key phrase, thought, train, heldout).
_IDENTITY = "I am Dragoman Tiny, a small language model that comes with the Dragoman server."
_TALK: dict[str, tuple[str, str, str, list[str], list[str]]] = {
    "greeting": (
        "Hello! How can I help you?", "How can I help you", "The user greets me. I greet back.",
        ["Hello", "Hi", "Hey", "Hi there", "Hello there", "Hey there", "Hello!", "Hello, Dragoman", "Hi Dragoman", "Hello you", "Greetings",
         "Hello, are you there?", "Hi, anybody there?", "Are you there?", "Hello again", "Hi again", "Hey you", "Nice to meet you", "Good day",
         "Hello friend", "Hi friend", "Hello my friend", "Hey Dragoman Tiny", "Hello, nice to meet you", "Hi everyone", "Hello, I am back",
         "I am here", "Is anybody here?", "Hello, can you hear me?", "Hi, I have a question.", "Hello, I need some help.", "Can you help me?",
         "Could you help me?", "I need help.", "Good to see you", "Howdy", "Welcome back", "Hello, assistant", "Hi assistant", "Hi, it is me"],
        ["Good day to you", "Good day, my friend", "Nice to see you again", "I need your help.", "Is somebody there?", "Good to see you again", "Greetings to you"]),
    "morning": (
        "Good morning! How can I help you?", "Good morning", "The user says good morning. I say it too.",
        ["Good morning", "Good morning!", "Good morning, Dragoman", "Morning", "A good morning to you", "Good morning to you", "Good morning, my friend",
         "Good morning, assistant", "A very good morning", "Good morning everyone", "Hi, good morning", "Hello and good morning"],
        ["Good morning, Dragoman Tiny", "Good morning again", "Good morning, friend", "Morning, my friend"]),
    "evening": (
        "Good evening! How can I help you?", "Good evening", "The user says good evening. I say it too.",
        ["Good evening", "Good evening!", "Good evening, Dragoman", "Evening", "A good evening to you", "Good evening to you", "Good evening, my friend",
         "Good evening, assistant", "A very good evening", "Good evening everyone", "Hi, good evening", "Hello and good evening"],
        ["Good evening, Dragoman Tiny", "Good evening again", "Good evening, friend", "Evening, my friend"]),
    "thanks": (
        "You are welcome!", "You are welcome", "The user thanks me. I say that they are welcome.",
        ["Thanks", "Thank you", "Thank you!", "Thanks a lot", "Thank you very much", "Many thanks", "Thank you so much", "Thanks for your help",
         "Thank you for your help", "Thanks for the answer", "Thank you for the answer", "Great, thanks", "Great, thank you", "Perfect, thanks",
         "Ok, thank you", "Ok, thanks", "That helped, thanks", "That was helpful, thank you", "Nice, thanks", "Thanks, that is all I wanted", "Cool, thanks",
         "Thanks, good answer", "I thank you", "Very good, thank you", "Wonderful, thank you", "Thanks, you are great", "Thank you, you are kind",
         "Thanks again", "Thank you, that is right", "Thanks, that is what I needed", "A big thank you", "Good, thanks", "Super, thanks", "Thanks, friend"],
        ["Many thanks for your help", "Perfect, thank you very much", "Thank you again", "Thanks so much", "That was great, thanks", "Thank you, good answer", "Thank you, that was all I needed"]),
    "goodbye": (
        "Goodbye! Have a nice day.", "Goodbye", "The user leaves. I say goodbye.",
        ["Goodbye", "Bye", "Bye bye", "See you", "See you later", "See you soon", "Good night", "Bye for now", "Goodbye!", "I have to go", "I have to go now",
         "I must go now", "I am leaving now", "Farewell", "Until next time", "See you tomorrow", "That is all for today, bye", "Thanks, bye", "Thank you and goodbye",
         "Talk to you later", "Have a nice day", "Have a good day", "Ok, bye", "Bye, Dragoman", "Goodbye, Dragoman", "I am done, bye", "Good night, Dragoman",
         "Take care", "Until tomorrow", "We talk later, bye", "I am going to bed", "Goodbye, my friend", "Bye, my friend", "Have a good evening, bye"],
        ["Bye, see you later", "Goodbye and thank you", "I must leave now, bye", "Goodbye for now", "Good night, my friend", "See you next time", "Bye, have a good day"]),
    "how": (
        "I am fine, thank you. How can I help you?", "I am fine", "The user asks how I am. I am fine.",
        ["How are you?", "How are you today?", "How are you doing?", "How do you do?", "How is it going?", "How are things?", "Are you well?", "Are you ok?",
         "Is everything ok?", "How do you feel?", "How do you feel today?", "Hello, how are you?", "Hi, how are you doing?", "Hey, how is it going?", "How is your day?",
         "Are you fine?", "How have you been?", "I am fine, how are you?", "And how are you?", "How are you this morning?", "Tell me how you are.", "Is all well with you?",
         "Are you doing well?", "How is life?", "What is up?", "Good morning, how are you?", "Good evening, how are you?", "Are you happy?", "Do you feel good?"],
        ["How are you feeling today?", "Are you well today?", "How is it going today?", "Tell me how you feel.", "How are you doing this morning?", "Is everything fine with you?"]),
    "can": (
        "I can chat a little, answer simple questions, add small numbers, repeat text, write JSON and call tools.", "answer simple questions",
        "The user asks what I can do. I list it.",
        ["What can you do?", "What are you able to do?", "What can you do for me?", "How can you help me?", "What do you do?", "What are your skills?", "What are you good at?",
         "Which things can you do?", "Tell me what you can do.", "What can I ask you?", "What may I ask you?", "What is your job?", "What are you for?", "What are your abilities?",
         "List your skills.", "What kind of questions can you answer?", "What help can you give?", "Show me what you can do.", "What tasks can you do?", "Which tasks can you do?",
         "What do you know?", "What is your purpose?", "What can I use you for?", "Can you tell me what you can do?", "Explain what you can do.", "What else can you do?",
         "What are you made for?", "In what can you help me?", "Which questions can you answer?", "How can I use you?"],
        ["What tasks can I use you for?", "Tell me what you are good at.", "Which skills do you have?", "What help can I ask you for?", "List what you can do.", "Explain your purpose."]),
    "who": (
        _IDENTITY, "Dragoman Tiny", "The user asks who I am. I am Dragoman Tiny.",
        ["Who are you?", "What is your name?", "What are you?", "What are you called?", "Tell me your name.", "Tell me who you are.", "Do you have a name?", "How are you called?",
         "Who am I talking to?", "Who is this?", "Introduce yourself.", "What should I call you?", "Please introduce yourself.", "Can you introduce yourself?", "Say who you are.",
         "May I know your name?", "I would like to know your name.", "What model are you?", "Which model are you?", "Who is speaking?", "Who answers me?", "Which language model are you?",
         "Your name?", "Give me your name.", "What is the name of this model?", "Which model am I talking to?", "Could you tell me your name?", "Can you tell me who you are?",
         "What is your model name?", "And who are you?", "Describe yourself.", "Say something about yourself.", "Tell me about yourself.", "With whom am I talking?", "Who is there?"],
        ["Can you tell me your name?", "Could you introduce yourself?", "What is the name of the model?", "I would like to know who you are.", "Say your name.", "What model am I talking to?",
         "What can I call you?"]),
    "human": (
        "No. I am Dragoman Tiny, a small language model.", "small language model", "The user takes me for somebody else. I am a small language model.",
        ["Are you human?", "Are you a human?", "Are you a person?", "Are you ChatGPT?", "Are you a real person?", "Am I talking to a human?", "Are you GPT-4?", "Are you Claude?", "Are you Gemini?",
         "Are you a man?", "Are you a woman?", "Is this ChatGPT?", "Are you a big model?", "Are you a large language model?", "Is there a human here?", "Are you alive?", "Am I talking to a person?",
         "Are you somebody real?", "Do I talk to a human?", "Are you Llama?", "Are you a human or ChatGPT?", "You are ChatGPT, right?", "You are a human, right?", "Is this a real person?",
         "Are you made by OpenAI?", "Do you have hands?", "Do you eat and sleep?"],
        ["Am I talking to ChatGPT?", "Is this a human?", "You are a real person, right?", "Are you a real human?", "Do I talk to a person?", "Is this Claude?"]),
    "size": (
        "I am very small: I have about four million parameters.", "four million parameters", "The user asks for my size: about four million parameters.",
        ["How big are you?", "How large are you?", "How many parameters do you have?", "What is your size?", "How small are you?", "What size are you?", "What size do you have?",
         "How many weights do you have?", "Tell me your size.", "How many parameters are in you?", "What is your number of parameters?", "Are you small?", "How big is this model?",
         "How large is this model?", "How many parameters does this model have?", "What is the size of this model?", "Tell me how big you are.", "Tell me how many parameters you have.",
         "Can you tell me your size?", "Is your model small?", "How tiny are you?", "How big is Dragoman Tiny?", "How many parameters does Dragoman Tiny have?", "What is the parameter count of this model?",
         "What is your parameter count?", "How big is your model?", "Why are you called tiny?", "I want to know your size."],
        ["How large is Dragoman Tiny?", "What is the size of your model?", "How many weights does this model have?", "Can you tell me how big you are?", "Tell me your parameter count.", "How small is this model?"]),
    "maker": (
        "I was made by the Dragoman project.", "Dragoman project", "The user asks who made me: the Dragoman project.",
        ["Who made you?", "Who created you?", "Who built you?", "Who trained you?", "Who is your maker?", "Who is your creator?", "Where do you come from?", "Who developed you?", "By whom were you made?",
         "Which company made you?", "What company are you from?", "Tell me who made you.", "Tell me who created you.", "Who wrote you?", "Who is behind you?", "Where were you made?", "Who are your makers?",
         "Who are your creators?", "Who trained this model?", "Who made this model?", "Which team built you?", "Can you tell me who made you?", "Do you know who made you?", "Who were you made by?",
         "Who were you trained by?", "Which project do you belong to?", "Where were you trained?", "Which people made you?", "To whom do you belong?", "I want to know who made you."],
        ["Who created this model?", "Which team trained you?", "Do you know who created you?", "Tell me who built you.", "Which project made you?", "Who developed this model?"]),
}


def talk_item(rng: random.Random, split: Split, name: str) -> Item:
    """A small-talk item of one name."""
    answer, key, thought, train, heldout = _TALK[name]
    pattern, user = ask(rng, split, {"train": train, "heldout": heldout}) if name not in ("greeting", "morning", "evening", "goodbye", "thanks", "how") else (None, None)
    if pattern is None:
        pattern = rng.choice(train if split == "train" else heldout)
        user = pattern.lower() if rng.random() < 0.25 else pattern
        if user[-1].isalpha() and rng.random() < 0.5:
            user += rng.choice("!.")
    return Item(f"chat.{name}", user, answer, Check("contains", [key]), thought, (pattern,))


def _talk(name: str) -> Callable[[random.Random, Split], Dialogue]:
    def make(rng: random.Random, split: Split) -> Dialogue:
        return to_dialogue(talk_item(rng, split, name))

    make.__name__ = name
    return make


_INTRODUCTIONS: Patterns = {
    "train": ["Hello, I am {person}.", "Hi, I am {person}.", "Hello, my name is {person}.", "Hi, my name is {person}.", "My name is {person}.", "I am {person}.", "Hey, this is {person}.", "Hello, this is {person}.",
              "Good day, I am {person}.", "I am called {person}.", "You can call me {person}.", "Call me {person}.", "Hi there, {person} here.", "Hello, {person} here.", "It is me, {person}.", "People call me {person}."],
    "heldout": ["The name is {person}.", "You may call me {person}.", "People here call me {person}.", "Good day, people call me {person}.", "I am {person}, nice to meet you."],
}


def introduction(rng: random.Random, split: Split) -> Dialogue:
    """The user says a name and is greeted by it."""
    pattern, person = rng.choice(_INTRODUCTIONS[split]), value(rng, split, "person")
    return to_dialogue(Item("chat.introduction", pattern.format(person=person), f"Hello {person}! How can I help you?", Check("contains", [person]),
                            f"The user is {person}. I greet {person}.", (pattern,), (person,)))


# Questions about Dragoman. Groups share frames; {x} is a purpose.
_ENDPOINTS = {
    "/v1/chat/completions": ["chat completions", "chat", "the OpenAI chat protocol"],
    "/v1/completions": ["text completions", "plain completions", "completing a text"],
    "/v1/responses": ["responses", "the responses protocol", "the OpenAI responses protocol"],
    "/v1/embeddings": ["embeddings", "text embeddings", "vectors of a text"],
    "/v1/models": ["the list of models", "listing models", "all models"],
    "/v1/messages": ["messages", "the Anthropic protocol", "Anthropic messages"],
    "/health": ["health", "the health check", "checking that the server lives"],
    "/ready": ["readiness", "the readiness check", "checking that the server is ready"],
    "/metrics": ["metrics", "Prometheus", "the metrics of the server"],
}
_COMMANDS = {
    "dragoman serve": (["run the server", "start the server", "serve a model"], "runs the server"),
    "dragoman run": (["chat in the terminal", "talk to a model in the terminal", "run a model in the terminal"], "chats with a model in the terminal"),
    "dragoman pull": (["download a model", "fetch a model", "get a new model"], "fetches a model and verifies it"),
    "dragoman list": (["list the models", "see all models", "show the models"], "lists the models"),
    "dragoman ps": (["see which models are loaded", "show the loaded models", "list the running models"], "shows the loaded models"),
    "dragoman load": (["load a model", "load a model into memory", "put a model into memory"], "loads a model into memory"),
    "dragoman unload": (["unload a model", "remove a model from memory", "free the memory of a model"], "removes a model from memory"),
    "dragoman doctor": (["check my machine", "see what my machine lacks", "find problems of my machine"], "checks what the machine has and lacks"),
}
_FRAMES: dict[str, Patterns] = {
    "endpoint": {
        "train": ["Which endpoint is for {x}?", "What is the endpoint for {x}?", "Which path serves {x}?", "What path do I use for {x}?", "Where do I send requests for {x}?", "Tell me the endpoint for {x}.", "Which URL is for {x}?",
                  "What is the path for {x} in Dragoman?", "Where does Dragoman offer {x}?", "I need the endpoint for {x}.", "Endpoint for {x}?", "Which endpoint does Dragoman have for {x}?", "What is the URL for {x}?", "Give me the path for {x}."],
        "heldout": ["Which endpoint do I use for {x}?", "Tell me the path for {x}.", "Which URL serves {x}?", "I need the URL for {x}."]},
    "command": {
        "train": ["How do I {x}?", "Which command lets me {x}?", "What is the command to {x}?", "How can I {x} with Dragoman?", "I want to {x}. Which command?", "What do I type to {x}?", "Tell me how to {x}.", "Which Dragoman command is there to {x}?",
                  "How do I {x} with Dragoman?", "What command do I need to {x}?", "I would like to {x}. How?", "Command to {x}?", "How does one {x}?", "Give me the command to {x}."],
        "heldout": ["Which command do I need to {x}?", "Tell me the command to {x}.", "What do I type if I want to {x}?", "How can one {x} with Dragoman?"]},
    "meaning": {
        "train": ["What does {x} do?", "What is {x}?", "What is {x} for?", "Explain {x}.", "What does the command {x} do?", "Tell me what {x} does.", "What happens with {x}?", "What is the use of {x}?", "When do I use {x}?", "Why would I use {x}?"],
        "heldout": ["What is the command {x} for?", "Explain what {x} does.", "Tell me the use of {x}."]},
}
# answer, key, train, heldout
_ABOUT: list[tuple[str, str, list[str], list[str]]] = [
    ("Dragoman is one server for language models: every chat protocol in front, any engine behind.", "one server for language models",
     ["What is Dragoman?", "Tell me about Dragoman.", "Explain Dragoman.", "What does Dragoman do?", "What is the Dragoman server?", "Describe Dragoman.", "What is Dragoman for?", "Do you know Dragoman?", "What kind of program is Dragoman?",
      "What is the Dragoman project?", "Why should I use Dragoman?", "What is the use of Dragoman?"],
     ["Tell me what Dragoman is.", "Explain what Dragoman does.", "What kind of server is Dragoman?"]),
    ("Dragoman listens on 127.0.0.1:7411 by default.", "127.0.0.1:7411",
     ["What is the default address of Dragoman?", "Where does Dragoman listen?", "Which port does Dragoman use?", "What is the default port?", "On which address does the server listen?", "What is the base URL of the server?", "Which address do I connect to?",
      "What is the address of the server?", "On which port does Dragoman run?", "Tell me the default address.", "How do I reach the server?", "Where can I reach Dragoman?", "What is the URL of Dragoman?"],
     ["On which port does the server listen?", "What is the default port of Dragoman?", "Tell me the address of Dragoman."]),
    ("Start Dragoman with npm start.", "npm start",
     ["How do I start Dragoman?", "How can I start Dragoman?", "How is Dragoman started?", "What starts Dragoman?", "How do I launch Dragoman?", "How do I begin with Dragoman?", "What do I type to start Dragoman?", "How do I install and start Dragoman?",
      "Tell me how to start Dragoman.", "How do I get Dragoman running?", "Quick start of Dragoman?", "I want to start Dragoman. How?"],
     ["How can I launch Dragoman?", "What do I type to launch Dragoman?", "Tell me how to get Dragoman running."]),
    ("The configuration file is dragoman.yaml.", "dragoman.yaml",
     ["What is the config file called?", "Which file holds the configuration?", "Where is the configuration?", "How do I configure Dragoman?", "What is the name of the configuration file?", "Where are the settings?", "Which config file does Dragoman read?",
      "Where do I change the settings?", "Tell me the name of the config file.", "In which file are the settings?", "How can I change the configuration?", "Where do I configure the server?"],
     ["Which file holds the settings?", "What is the configuration file called?", "Where do I change the configuration of Dragoman?"]),
    ("Dragoman has the engines llama, llama-server, remote and fake.", "llama-server",
     ["Which engines does Dragoman have?", "What engines are there?", "Which engines can Dragoman use?", "List the engines.", "What engines does Dragoman support?", "Tell me the engines.", "Which engine can I use?", "What are the engines of Dragoman?",
      "Name the engines of Dragoman.", "Which engines are behind Dragoman?", "Which engines are supported?", "What engine runs the models?"],
     ["Name the engines.", "What engines can I use?", "Tell me which engines Dragoman has."]),
    ("Dragoman is under the Apache-2.0 licence.", "Apache-2.0",
     ["What is the licence of Dragoman?", "Which license does Dragoman have?", "Under which licence is Dragoman?", "What license is it?", "Is Dragoman open source?", "Is Dragoman free?", "Which licence applies?", "Tell me the license.", "What is the license?",
      "How is Dragoman licensed?", "May I use Dragoman at work?", "Under what license is the code?"],
     ["Which licence does the code have?", "Tell me the licence of Dragoman.", "Under which license is the code of Dragoman?"]),
    ("Dragoman is written in TypeScript.", "TypeScript",
     ["In which language is Dragoman written?", "What language is Dragoman written in?", "Which programming language does Dragoman use?", "What is Dragoman written in?", "What is Dragoman programmed in?", "Is Dragoman written in Python?", "Is Dragoman written in Rust?",
      "What is the programming language of Dragoman?", "Which language is the code in?", "In what language is the server written?", "Tell me the programming language of Dragoman."],
     ["In which programming language is Dragoman written?", "What language is the code written in?", "Is the server written in Rust?"]),
    ("Dragoman runs models in the GGUF format.", "GGUF",
     ["Which model formats does Dragoman support?", "What model format does Dragoman use?", "Which models can Dragoman run?", "What kind of model files can I use?", "In which format must a model be?", "Which file format do models have?", "What format are the models?",
      "Which formats are supported?", "Can I use GGUF models?", "Tell me the model format.", "What files can Dragoman load?", "Which model files does Dragoman read?"],
     ["What model files can Dragoman run?", "Which format do the models have?", "Tell me which model formats are supported."]),
    ("The environment variables start with DRAGOMAN_.", "DRAGOMAN_",
     ["Which environment variables are there?", "How do the environment variables start?", "What is the prefix of the environment variables?", "Which environment variables does Dragoman read?", "Can I use environment variables?", "What are the environment variables called?",
      "How are the environment variables named?", "Tell me about the environment variables.", "Does Dragoman read environment variables?", "What environment variables can I set?", "With what do environment variables begin?"],
     ["How do environment variables of Dragoman start?", "What prefix do the environment variables have?", "Which environment variables can I set?"]),
    ("Run the tests with npm test.", "npm test",
     ["How do I run the tests?", "How are the tests run?", "What runs the tests?", "How do I test Dragoman?", "Which command runs the tests?", "How can I run the tests of Dragoman?", "What do I type to run the tests?", "How do tests run?", "Tell me how to run the tests.",
      "How can I check the code?", "How do I run all checks?", "I want to run the tests. How?"],
     ["How can I test Dragoman?", "Tell me how the tests are run.", "What do I type to test Dragoman?"]),
    ("The commands are serve, run, pull, list, ps, load, unload and doctor.", "serve, run, pull",
     ["Which commands does Dragoman have?", "What commands are there?", "List the commands.", "List the commands of Dragoman.", "Which commands can I use?", "What are the commands of Dragoman?", "Tell me the commands.", "Name all commands.", "Show me the commands.",
      "What can I type on the command line?", "Which commands are there?"],
     ["Name the commands of Dragoman.", "What commands does Dragoman have?", "Tell me all commands."]),
    ("The endpoints are /v1/chat/completions, /v1/completions, /v1/responses, /v1/embeddings, /v1/models, /v1/messages, /health, /ready and /metrics.", "/v1/chat/completions, /v1/completions",
     ["Which endpoints does Dragoman have?", "What endpoints are there?", "List the endpoints.", "List the endpoints of Dragoman.", "Which endpoints can I use?", "What are the endpoints of Dragoman?", "Tell me the endpoints.", "Name all endpoints.", "Show me the endpoints.",
      "Which paths does the server have?", "Which endpoints are there?"],
     ["Name the endpoints of Dragoman.", "What endpoints does Dragoman have?", "Tell me all endpoints."]),
]


def dragoman_item(rng: random.Random, split: Split) -> Item:
    """A question about Dragoman."""
    kind = rng.choices(["about", "endpoint", "command", "meaning"], [12, 6, 6, 3])[0]
    if kind == "about":
        answer, key, train, heldout = rng.choice(_ABOUT)
        pattern = rng.choice(train if split == "train" else heldout)
    else:
        frame = rng.choice(_FRAMES[kind][split])
        if kind == "endpoint":
            key, purposes = rng.choice(list(_ENDPOINTS.items()))
            purpose, answer = rng.choice(purposes), f"Use the endpoint {key}."
        elif kind == "command":
            key, (purposes, _) = rng.choice(list(_COMMANDS.items()))
            purpose, answer = rng.choice(purposes), f"Use the command {key}."
        else:
            purpose, (_, key) = rng.choice(list(_COMMANDS.items()))
            answer = f"The command {purpose} {key}."
        pattern = frame.replace("{x}", purpose)
    return Item("chat.dragoman", dress(rng, pattern), answer, Check("contains", [key]), f"A question about Dragoman: {key}.", (pattern,))


def dragoman(rng: random.Random, split: Split) -> Dialogue:
    """A question about Dragoman."""
    return to_dialogue(dragoman_item(rng, split))


def aside(rng: random.Random, split: Split) -> Item:
    """A turn of small talk to put between others."""
    return talk_item(rng, split, rng.choice(["greeting", "thanks", "how", "can", "who", "human", "size", "maker"]))


SKILLS: list[tuple[float, Callable[[random.Random, Split], Dialogue]]] = [
    (1.2, _talk("greeting")), (0.3, _talk("morning")), (0.3, _talk("evening")), (0.8, _talk("thanks")), (0.8, _talk("goodbye")), (0.8, _talk("how")), (0.8, _talk("can")),
    (1.2, _talk("who")), (0.6, _talk("human")), (0.6, _talk("size")), (0.6, _talk("maker")), (0.6, introduction), (4.0, dragoman),
]
