"""More ways in which users ask for the well-known functions: for training only.

One pattern a line, with alternatives in parentheses; ` => name=value` gives arguments that the words imply.
"""

from __future__ import annotations

import random
import re

#: By function. `{place}` stands for the function's only place.
PHRASINGS: dict[str, str] = {
    "get_weather": """
        (what is|what's|how is|how's|show me|tell me|give me|check|get|I need|I want to know) the weather (in|for|at) {place}( today| now| right now| tomorrow|)
        (what will|how will) the weather be in {place}( today| tomorrow| on Monday|)?
        (give me |show me |I need |read me |)the (current |latest |)(weather|forecast|weather forecast) (for|in|of) {place}( please| now| today|)
        (is it|will it be|tell me if it is|tell me whether it is) (hot|cold|warm|windy|snowing|raining|cloudy|foggy) in {place}( now| today| this week|)
        how (hot|cold|warm|windy|humid) (is it|will it be) in {place}( in {unit}|)( now| today|)
        (what is|what's|tell me|show me|get) the temperature in {place}( in {unit}|)( now| today|)
        (weather|forecast|temperature) {place}(, {unit}|, in {unit}|)
        do I need (a coat|a jacket|an umbrella|sunglasses|gloves) in {place}( today|)
        I (am in|travel to|fly to|am on my way to) {place}, (how is the weather|what is the weather|is it cold there|will I need a coat)
        (show me|tell me|find out|check) how (the weather will be|cold it is|hot it is|it looks outside) in {place}( in {unit}|)""",
    "get_time": """
        (what is|what's|tell me|show me|give me|I need|I want to know|check) the (local |current |exact |)time (in|for|at|of) {city}( now| right now| please|)
        (tell me |do you know |can you tell me |say |I wonder )(what time it is|how late it is|which time it is) (now |)in {city}( now|)
        how late (do they have it|is it now) in {city}?
        (time|clock|local time|the time) (in|for) {city}( now| please|)
        what does the clock say in {city}?
        I (am in|call|fly to|live in) {city}, (what time is it there|how late is it there|tell me the time there)
        if I call {city}, what time is it there""",
    "set_timer": """
        (set|start|make|create|begin|give me|I want|I need|run) a timer (for|of|with) {minutes} minutes( now| please|)
        (set|start|make|create|begin|give me|I want|run) a {minutes} minute timer( now| please|)
        (set|start|make|create|begin|give me|I want|I need) a timer (for|of) {minutes} minutes (named|labelled|for my|for the|with the label|with the name) {label}
        (set|start|make|create|give me|I want|I need) a {minutes} minute timer (named|labelled|for|with the label|with the name) {label}
        (set|start|make|create|give me|I want|I need) a timer (named|labelled|called|for) {label} (of|with|that runs|over) {minutes} minutes
        (set|start|make|create|give me) a {label} timer (for|with) {minutes} minutes
        (tell me when|ring in|beep in|alarm in|notify me after|wake me after) {minutes} minutes( are over| have passed|)
        {label} timer, {minutes} minutes""",
    "send_email": """
        (send|write|compose|draft) (an email|a mail|a message by email|an e-mail) to {to} (with the subject|with subject|on the subject|under the subject|titled) {subject} (and the body|and the text|that says|reading|and the content) {body}
        (send|write) (an email|an e-mail|a short mail) to {to} about {subject} (telling them|that says|with the text|with the words|which says) {body}
        (email|mail|write) {to} (about|on|regarding|concerning) {subject}(: | and say | and tell them | with the text | and write ){body}
        (to|recipient|mail to): {to}(, |; | )subject: {subject}(, |; | )(body|text|message): {body}
        (email|mail) {to}. (The subject is|Subject is|Use the subject) {subject}(. The text is |. The body is |, and the text is |. Write ){body}
        I (want|need) to (email|mail|write to) {to} (about|regarding) {subject}: {body}
        let {to} know by (mail|email) about {subject}: {body}""",
    "send_message": """
        (tell|inform|remind|text|message|let) {recipient} (that|know that|:) {text}
        (send|write) {recipient} (a message|a text|a note|an SMS)( that says| saying| with the text| reading|:| which says) {text}
        (send|write|text) (a message|a note|an SMS|a short message) to {recipient} (that says|with the text|reading|which says|with the words) {text}
        (send|text|message) {recipient} (this|the following|the text|the words): {text}
        (send|forward|write|text) "{text}" to {recipient}
        {recipient} (should|must|needs to|has to) know (that|:) {text}
        I want to (tell|text|message|let) {recipient} (that|:) {text}
        (message|SMS|text) (for|to) {recipient}: {text}
        (give|leave) {recipient} the message {text}""",
    "search_web": """
        (search|look|check|browse|query) (the web|the net|online|on the web|on the internet) for {query}( please| now|)
        (google|search|find|look up|research) {query} (for me|on the web|on the net|on google)
        (find|show|get|list|give) me {limit} (pages|results|articles|links|sites) (about|on|for) {query}( online| from the internet|)
        (find|get|list|I want|I need) {limit} (pages|results|articles|links|websites) (about|on|for) {query}
        (what does the internet say|what can you find on the web|what is on the web|what is new on the web) about {query}
        (search|look) (the internet|the web|online) for {query}(, | with | and give me | and return | - )(only {limit}|{limit}|at most {limit}) (results|hits|pages|links)
        (web search|search query|internet search|online search)(: | for ){query}(, {limit} results|)
        I (want to|would like to|need to) (know|learn|find|see) (something |more |)about {query} (on the web|from the internet|online)""",
    "convert_currency": """
        (convert|change|exchange|turn|swap|translate) {amount} {from} (to|in|for) {to}( please| now|)
        (what is|what's|what are|how much is|how much are|how many {to} are) {amount} {from}( in {to}| worth in {to}|)?
        (I have|I want to change|I need to convert|I want to convert|I'd like to exchange|I must change) {amount} {from} (to|into|in) {to}
        (give me|tell me|show me|calculate) (the value of |what I get for |){amount} {from} in {to}
        (how many|how much) {to} (do I get for|is|are|will I get for|would be) {amount} {from}?
        {amount} {from} (to|into|as|=) {to}( please|)
        from {from} to {to}: {amount}
        (I pay|it costs|the price is|the bill is) {amount} {from}, what is that in {to}?""",
    "calculate": """
        (calculate|compute|evaluate|solve|work out|determine|find)( the value of| the result of| the sum|) {expression}( for me| please| now|)
        (what is|what's|how much is|what do you get for|what is the result of|what is the value of) {expression}?
        (tell me|show me|give me|I need|I want to know) (what {expression} is|the result of {expression}|the value of {expression}|{expression})
        (use|take|open) the calculator (for|and compute|and work out): {expression}
        (result of|the result of|value of|math:|sum:) {expression}
        {expression}( please|, please| is what| equals|)""",
    "translate_text": """
        (translate|put|turn|convert|say|write|render) (the text |the words |the sentence |the phrase |this: |)"{text}" (into|in) {language}( please| for me|)
        (translate|put|turn|convert) {text} (into|in) {language}
        (how do you say|how would you say|how can I say|how do I write|what is|what's) "{text}" in {language}?
        (give me|I need|I want|show me) (the {language} for|the {language} translation of|a {language} translation of|the {language} version of) "{text}"
        (into|to|in) {language}(: |, please: ){text}
        (a |the |)translation (of "{text}" to|of "{text}" into) {language}
        (translate|say|write|put) (in|to) {language}: {text}
        (the {language} translation of|{language} for|{language}:) {text}""",
    "add_todo": """
        (add|put|write|enter|note|place) {task} (to|on|in) (my list|the list|the to-do list|my tasks|the task list|my list of tasks)( please| now|)
        (add|put|write|enter|create|make|note) (a |the |a new |)(task|to-do|item|todo) (called |named |to |: |){task}
        (add|put|enter|create|note) (a|the|one) {priority} priority (task|to-do|item): {task}
        (add|create|make|enter|note) (a|the|an) (task|to-do|item) (with|of) {priority} priority(: | called | named ){task}
        (with|at) {priority} priority, (add|note|put down|create the task) {task}
        (I must|I need to|I have to|I want to|we have to|I should) {task}, (note it|note it down|add it to my list|put that on the list|write it down)
        (remind me|remember|don't forget|do not let me forget) to {task}( with {priority} priority|, {priority} priority|)
        (to-do|todo|task|reminder|new item|new to-do)( with {priority} priority|, {priority} priority|, priority {priority}|)( is|: |, ){task}
        {task} (goes|belongs) on my (list|to-do list)( with {priority} priority|)""",
    "switch_light": """
        (turn|switch|put) (on|up) the (light|lights|lamp|lamps) (in|of|for) the {room} room( please| now|) => on=true
        (turn|switch|shut|put) (off|out) the (light|lights|lamp|lamps) (in|of|for) the {room} room( please| now|) => on=false
        (turn|switch|put) the {room} room (light|lights|lamp) on( please| now|) => on=true
        (turn|switch|shut|put) the {room} room (light|lights|lamp) off( please| now|) => on=false
        (turn|switch|put) the (lights|lamp|lamps) in the {room} room on( please| now|) => on=true
        (turn|switch|shut|put) the (lights|lamp|lamps) in the {room} room off( please| now|) => on=false
        (I want|I need|we need|give me|let there be) (light|the lights|the light on) in the {room} room => on=true
        (I want|I need|we need) (no light|darkness|the light off) in the {room} room => on=false
        (the |)(light|lights|lamp) (in|of) the {room} room (on|should be on|must be on|has to be on|go on) => on=true
        (the |)(light|lights|lamp) (in|of) the {room} room (off|should be off|must be off|has to be off|go off) => on=false
        (it is too dark|I cannot see anything) in the {room} room => on=true
        (it is too bright|nobody is|I am done|we are finished) in the {room} room => on=false""",
    "book_table": """
        (book|reserve|get|find|order|I want|I need|we need|we want) a table (for {people} people |for {people} persons |for {people} )at {restaurant}( at {time}|)
        (book|reserve|get|find|order|I want|I need|we need) a table at {restaurant}( for {people}| for {people} people| for {people} persons)( at {time}|)
        (book|reserve|get|order|I want|we need) a table at {restaurant} at {time} for {people}( people| persons)
        (table|dinner|lunch|reservation) at {restaurant}(, | for ){people} (people|persons|guests)(, {time}| at {time}|)
        (we are|we will be|there are|we come with) {people}( people| persons|)(, | and )(reserve|book|get us|we want) (a table |something )at {restaurant}( at {time}|)
        (we|I) (want|would like|need) to (have dinner|have lunch|eat|dine) at {restaurant}( at {time}|) with {people}( people| friends| persons|)
        (we|I) (would like|need|plan) to (eat|dine|have dinner) at {restaurant}, {people} (people|persons|guests)(, at {time}|)
        (dinner|lunch|eating) for {people} at {restaurant}( at {time}|)
        (reserve|book) {restaurant}(, | for ){people} (people|persons|guests)(, {time}| at {time}|)""",
    "order_pizza": """
        (order|get|bring|I want|I'd like|I would like|can I have|give me|we need|make me) (a|one) {size} pizza( with {toppings}|)( please| now|)
        (order|get me|I want|I'd like|I would like|can I have|give me|we need|make me) (a|one) {size} pizza( with {toppings}|)( for delivery|, delivered|, delivery please|, delivery| to my door| delivered to me|, bring it to me| and deliver it) => delivery=true
        (order|get me|I want|I'd like|I would like|can I have|give me|we need|make me) (a|one) {size} pizza( with {toppings}|)( for pickup|, pickup|, no delivery| to take away|, I fetch it myself|, I will pick it up| without delivery| and do not deliver it) => delivery=false
        (deliver|bring me|send me|have delivered) (a|one) {size} pizza( with {toppings}|) => delivery=true
        (a |one |){size} pizza( with {toppings}|)(, delivery|, delivered| for delivery| to my home) => delivery=true
        (a |one |){size} pizza( with {toppings}|)(, pickup|, to take away| for pickup|, not delivered) => delivery=false
        pizza(: |, ){size}(, {toppings}|, with {toppings}|)
        (for delivery|to be delivered)(: |, )(a |one |){size} pizza( with {toppings}|) => delivery=true
        (for pickup|to take away)(: |, )(a |one |){size} pizza( with {toppings}|) => delivery=false""",
    "create_contact": """
        (save|add|store|create|make|enter|put) (a |the |a new |)contact( for|:| named| called|) {name}(, | with | with the )email {email}
        (save|add|store|create|make|enter) (a |the |a new |)contact( for|:| named| called|) {name}( who lives at | at | living at | with the address | with address ){address}
        (save|add|store|put|enter|write) {name} (to|in|into) (my contacts|the contacts|the address book|my address book)(, | with | with the )email {email}
        (save|add|store|put|enter|write) {name} (to|in|into) (my contacts|the contacts|the address book|my address book)( who lives at |, address | with the address |, living at |: ){address}
        (contact|new contact|a contact|contact card)(: | for | ){name}(, | with | with the )email {email}
        (contact|a contact|contact card)(: | for | ){name}(, | with the address | living at | who lives at |, address ){address}
        {name} (lives at|has the address|moved to) {address}, (save that|save it|add that contact|note it)
        {name} has the email {email}, (save that|save it|add the contact|note it)
        (save|add|remember) (the |a |)contact {name}
        (save|remember|store|note) {name} who lives at {address}
        (save|store|add|create) {name}(, | with email | with the email ){email}(, who lives at |, address | and address ){address}""",
    "get_directions": """
        (how do I|how can I|how do we|how can we|how does one) (get|travel|drive|go|come) from {from} to {to}( by {mode}|)?
        (show me|tell me|give me|find|get|look up|I need|plan) (the way|a route|the route|directions|the directions|a way|the best way) (from {from} to {to}|to {to} from {from})( by {mode}|)
        (route|way|directions|trip|navigation)(: | ){from} (to|-) {to}(, by {mode}|, {mode}|)
        (navigate|guide me|take me|bring me|lead me|get me) (from {from} to {to}|to {to} from {from})( by {mode}|)
        (I am in|I live in|we are in|I start in|we leave) {from} (and|but I) (must get to|need to go to|want to travel to|have to be in) {to}( by {mode}|)
        (by|with the|taking the) {mode} from {from} to {to}( please|)
        from {from} to {to}( by {mode}|, how|, please)""",
    "play_song": """
        (play|start|put on|I want to hear|let me hear|let me listen to|I'd like to hear|can you play) (the song |the track |the piece |)"{title}"( by {artist}| from {artist}|)( please| now|)
        (play|start|put on|let me hear|let me listen to|I'd like to hear|can you play|we want to hear) (the song |the track |the piece |)(called |named |){title} (by|from|of|sung by) {artist}
        (play|start|put on|let me hear|listen to|I'd like to hear) (me |)(the song |the track |the piece |){title}
        (song|music|track|next song)(: | ){title}(, {artist}| by {artist}|, by {artist}|)
        (something by|from|by) {artist}: {title}
        I (want|would like|feel like|need) to (listen to|hear) {title}( by {artist}| from {artist}|)""",
    "read_file": """
        (read|open|show|print|display|load|cat|view) (me |)(the |my |this |)(file |text file |document |)(at |called |named |){path}( please| now| for me|)
        (show|give|tell|read) me (the contents of|what is in|what stands in|all of|the text of) (the file |){path}
        (what does|what is written in|what's in|what stands in) (the file |){path}( say| contain|)?
        (open|load|take|get) {path} and (show|print|display|tell me|give me) (it|the content|what is in it|what it says)
        (I want|I need|I'd like) to (see|read|view|look at) (the file |){path}
        (let me|can I) (read|see|view|look at|look into) (the file |){path}
        (the |)(content|contents|text) of (the file |){path}( please|)""",
    "set_temperature": """
        (set|change|put|bring|adjust|turn) (the temperature in |the temperature of |the heating in |the heating of )the {room} room to {degrees}( degrees|)( please| now|)
        (set|change|put|bring|adjust|heat|cool|warm) the {room} room (to|up to|down to) {degrees}( degrees| celsius|)( please| now|)
        (make|keep|get) (the {room} room|it in the {room} room) {degrees} degrees( warm|)
        (I want|we want|we need|I need|I'd like) (it to be |a temperature of |){degrees} degrees (in|for) the {room} room
        (temperature|heating|thermostat) (of the|in the|for the) {room} room(: | to | = ){degrees}( degrees|)
        the {room} room (should be|must be|has to be|shall be|needs) {degrees} degrees( warm|)
        {degrees} degrees (for|to) the {room} room( please|)
        (it is too cold|it is too hot|I freeze) in the {room} room, (make it|set it to|I want) {degrees}( degrees|)""",
    "track_order": """
        (where is|where's|what about|what happened to|how is) (my |the |our |)(order|package|parcel|shipment) {order_id}( now|)?
        (track|find|check|look up|follow|locate|show) (my |the |our |)(order|package|parcel|shipment)( number| with the number| with number|) {order_id}( please| now|)
        (tell me|show me|give me|check|get|I need|what is|what's) the (status|state|position) of (the |my |our |)(order|package|shipment|order number) {order_id}
        (has|was|is) (my |the |)(order|package|shipment) {order_id} (been sent|arrived|shipped|on its way|left)( yet|)?
        (order|order number|tracking|package|number)(: | ){order_id}(, where is it| please|, status|)
        (I ordered something|I am waiting for something|I wait for my package)(, the number is |, order |: ){order_id}
        when (will|does) (my |the |)(order |package |){order_id} (come|arrive|get here)?""",
    "create_event": """
        (create|add|make|put|enter|schedule|plan|set up|note) (an event|a meeting|an appointment|a calendar entry|an entry|a new event|the event) (for|on) {date}( called | named | with the title | titled |, ){title}
        (create|add|make|put|enter|schedule|plan|set up|note) (an event|a meeting|an appointment|a calendar entry|an entry|the event) (called |named |with the title |titled |){title} (for|on) {date}( with {attendees}|)
        (put|enter|write|note|add|place) {title} (in|into|on|to) (my calendar|the calendar|my agenda|my schedule) (for|on|at) {date}( with {attendees}|)
        (on|for) {date}(: | I have | we have | add | there is | schedule ){title}( with {attendees}|)
        (event|appointment|new appointment|calendar|meeting|date)(: | on | for ){date}(, |: ){title}( with {attendees}|)
        (event|appointment|calendar entry)(: | ){title}(, | on ){date}(, with {attendees}|)
        (invite|ask) {attendees} (to|for) {title} (on|at) {date}
        (schedule|plan|set) {title} (for|on) {date}( together with {attendees}| with {attendees}|)
        I (want|plan|have|need) to {title} on {date}, (put it in my calendar|note it|save the date|make an entry)""",
    "roll_dice": """
        (roll|throw|cast|toss|give me|I need|I want) (a|one) (die|dice) with {sides} (sides|faces)( please| now|)
        (roll|throw|cast|toss|give me|I need|I want) (a|one) {sides} (sided|faced) (die|dice)( please| now|)
        (roll|throw|cast|toss|give me|I want) {count} (dice|dices) (with|of) {sides} (sides|faces)( please| now| each)
        (roll|throw|cast|toss|give me|I want) {count} {sides} (sided|faced) dice( please| now|)
        (roll|throw|cast|toss) {count}d{sides}
        (roll|throw|cast|toss) (a|the|one) d{sides}( please| now|)
        (let the dice roll|dice|a throw|roll)(: |, ){count} (dice |times |)with {sides} (sides|faces)
        {sides} sides, {count} (dice|throws)""",
    "get_stock_price": """
        (what is|what's|tell me|show me|give me|get|get me|check|look up|I need|I want to know) the (price|stock price|share price|current price|quote|value|rate) (of|for) {symbol}( now| today| please|)
        (what does|how much does) (a share|one share|a stock|a piece) of {symbol} (cost now|cost today|trade at|go for)?
        (how much is|how much are|what is|what are) (a share of |one share of |shares of |){symbol} (worth|trading at|at)( now| today|)?
        (stock|share|shares|quote|market|price) (of |for |){symbol}( now| please| today|)
        {symbol} (stock|stock price|share price|quote|shares)( now| please| today|)
        (how is|how are|how did) (the stock of |the shares of |){symbol} (doing|today|performing)?
        I (own|have|want to buy|sell) {symbol}, (what is the price|how much is it|what is it worth)""",
}


def unfold(rng: random.Random, pattern: str) -> str:
    """One sentence of a pattern with alternatives in parentheses."""
    chosen = re.sub(r"\(([^()]*)\)", lambda group: rng.choice(group[1].split("|")), pattern)
    return " ".join(chosen.split())
