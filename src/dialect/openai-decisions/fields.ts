import { passedOn, sharedOpenaiFields } from '../openai/common-fields.ts'
import { type Field, informational, used } from '../wire/field-table.ts'

/** Every top-level field of `POST /v1/decisions`, with OpenAI's names or tabbyAPI's. */
export const decisionFields: readonly Field[] = [
  sharedOpenaiFields.model,
  used('input', "a text, or items as in Responses; with tabbyAPI's questions also an object or array, which is shown as JSON"),
  used(
    'questions',
    '1 to 400; each is a generation of one token over a shared prompt, whose most probable tokens (1,000 here, 20 of servers of others) give the probabilities. ' +
      "OpenAI's `predicate`, `choice` (2 to 26), `score` (2 to 10 levels), with `instructions` as text or JSON; " +
      "tabbyAPI's `yes_no`, `choice`, `score`, with `question` and `id`, give a reply in its form",
  ),
  used('temperature', 'above 1: flatter probabilities; default 1'),
  used('enable_thinking', 'as in chats; thinking is off without it'),
  used('template_vars', 'variables for the chat template'),
  used('prompt_cache_key', passedOn),
  used('safety_identifier', passedOn),
  informational('prompt_cache_options', 'equal prefixes are reused without it'),
]
