import { fine } from '../answers.ts'
import { type Check, calls, finish, has, status, text, upstreamGot, upstreamLacks } from '../checks.ts'
import {
  assistant,
  better,
  chat,
  differs,
  type Group,
  imagePart,
  over,
  type Row,
  shownBy,
  system,
  tiny,
  tool,
  user,
  works,
  writes,
} from '../row.ts'
import { picture } from '../servers.ts'
import { inOrder, renders, streamsCalls } from './shown-steps.ts'

const f = (raw: string, fields: object, ...checks: readonly Check[]) =>
  writes(raw, { model: 'writes-pythonic', tools: [tool(), tool('g')], ...fields }, ...checks)

const prompts: readonly Row[] = [
  better(
    52,
    ['templates of conversations', 'those of the model files, all that llama.cpp has'],
    shownBy('../src/model-text/template/histories.test.ts', 'renders what clients send, and loses nothing of it'),
    shownBy('../src/model-text/template/histories.test.ts', 'shows any tool, with the names of all its parameters'),
  ),
  better(
    53,
    ['a system message only at the start', 'anywhere'],
    renders({ messages: [user('ONE'), system('RULE'), user('TWO')] }, has('prompt', inOrder('ONE', 'system\nRULE', 'TWO'))),
  ),
  better(
    54,
    ['a role that the template lacks', 'its text is in another turn, in place of 500'],
    renders({ messages: [{ role: 'developer', content: 'RULE' }, user('a')] }, has('prompt', /<\|im_start\|>system\nRULE/)),
    shownBy(
      '../src/model-text/template/describe-tools.test.ts',
      'are in front of the first user message where there is no system message',
    ),
  ),
  works(
    55,
    'earlier thoughts are left out',
    renders(
      { messages: [user('a'), assistant('b', { reasoning_content: 'SECRET' }), user('c')] },
      has('prompt', (all: string) => inOrder('a', 'b', 'c')(all) && !all.includes('SECRET')),
    ),
  ),
  better(
    56,
    ['control tokens in what a user writes', 'are plain text'],
    shownBy('control-tokens.test.ts', "no string of a request becomes a control token in the built-in model's vocabulary"),
  ),
  works(
    57,
    'a prompt that is too long: 400 with both numbers',
    chat(
      { model: 'short', messages: [user('a '.repeat(30))] },
      status(400, /context_length_exceeded/),
      has('error.message', /20 tokens.*30 tokens/s),
    ),
  ),
  differs(
    58,
    ['a prompt that fills the context: 200 with an empty answer', '400 context_length_exceeded, since nothing can be generated'],
    chat(
      { model: 'short', messages: [user('a '.repeat(20))] },
      status(400, /context_length_exceeded/),
      has('error.message', /20 tokens.*20 tokens/s),
    ),
    chat({ model: 'short', messages: [user('a '.repeat(19))] }, finish('length'), has('usage.completion_tokens', 1)),
  ),
  works(
    59,
    'pictures, as data or by URL',
    chat({ messages: [user([imagePart(picture)])] }, text(/^\[image image\/png /)),
    chat({ messages: [user([imagePart('SITE/red.png')])] }, text(/^\[image image\/png /)),
  ),
  works(
    60,
    '`image_url` as a string',
    chat({ messages: [user([{ type: 'image_url', image_url: picture }])] }, text(/^\[image image\/png /)),
    over(
      fine,
      { messages: [user([{ type: 'image_url', image_url: picture }])] },
      upstreamGot('messages.0.content.0.image_url.url', picture),
    ),
  ),
]

const tools: readonly Row[] = [
  better(61, ['`tools: []`', 'the same as none'], over(fine, { tools: [] }, text('ok'), finish('stop'), upstreamLacks('tools'))),
  better(
    62,
    ['a named choice; an unknown name is a 400', 'enforced; the error has the names'],
    chat(
      { tools: [tool('get_time')], tool_choice: { type: 'function', function: { name: 'z' } } },
      status(400, /declared functions are \[\\"get_time\\"\]/),
    ),
    tiny(
      {
        max_tokens: 40,
        tools: [tool('g'), tool('f', { type: 'object', properties: {} })],
        tool_choice: { type: 'function', function: { name: 'f' } },
      },
      calls('f({})'),
    ),
  ),
  better(
    63,
    ['functions are in the prompt', 'also where the template shows none'],
    renders({ tools: [tool('find_it')] }, has('prompt', /find_it/)),
    renders({ model: 'found-by-name', tools: [tool('find_it')] }, has('prompt', /^\[found\] .*find_it/s)),
  ),
  works(64, 'call expressions, with `toolFormat: pythonic`', f('[f(a=1), g(a="x")]', {}, calls('f({"a":1})', 'g({"a":"x"})'))),
  differs(
    65,
    ['a call that cannot be read ends with `error`', 'it is the text of the answer'],
    f('f(a=', {}, text('f(a='), calls(), finish('stop')),
  ),
  better(
    66,
    ['a truncated call', '`length`, with the arguments so far'],
    chat(
      {
        model: 'writes-hermes',
        messages: [user('{"chunks":["<tool_call>{\\"name\\":\\"f\\",\\"arguments\\":{\\"a\\":1","}}</tool_call>"]}')],
        tools: [tool()],
        max_tokens: 1,
      },
      finish('length'),
      calls('f({"a":1)'),
    ),
  ),
  better(
    67,
    ['arguments are an object', "JSON as a string, as OpenAI's SDKs read them"],
    f('[f(a=1)]', {}, has('choices.0.message.tool_calls.0.function.arguments', '{"a": 1}')),
  ),
  better(
    68,
    ['calls in streams', 'piece by piece'],
    f('[f(a=1), g(a="x")]', { stream: true }, streamsCalls('f({"a":1})', 'g({"a":"x"})'), finish('tool_calls')),
  ),
  works(
    69,
    'calls of each of `n` choices',
    f(
      '[f(a=1)]',
      { n: 2 },
      has('choices.0.message.tool_calls.0.function.name', 'f'),
      has('choices.1.message.tool_calls.0.function', { name: 'f', arguments: '{"a": 1}' }),
      has('choices.1.finish_reason', 'tool_calls'),
    ),
  ),
]

/** What becomes of conversations and of calls. */
export const mlcPrompts: readonly Group[] = [
  { title: 'prompts', rows: prompts },
  { title: 'tools', rows: tools },
]
