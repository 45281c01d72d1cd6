import { call, calling, fine, saying } from '../answers.ts'
import { calls, has, status, upstreamGot, upstreamGotEach, upstreamGotNothing, upstreamLacks } from '../checks.ts'
import {
  assistant,
  better,
  called,
  differs,
  type Group,
  imagePart,
  over,
  type Row,
  result,
  system,
  textPart,
  tool,
  user,
  works,
} from '../row.ts'
import { picture, redPixel } from '../servers.ts'
import { content, f, overStack, says, stack, stackCalls } from './stack-steps.ts'

const g = { ...f, tool_name: 'g' }
const callOfF = '<function=f>{"a":"x"}</function>'

/** A call of `f` in each of the formats that a request may name. */
const written = {
  json: '{"type": "function", "name": "f", "parameters": {"a": "x"}}',
  function_tag: callOfF,
  python_list: '[f(a="x")]',
}
const definition = JSON.stringify({
  name: 'f',
  description: 'd',
  parameters: { type: 'object', properties: { a: { type: 'string', description: 'x' } }, required: ['a'] },
})
const earlier = {
  role: 'assistant',
  content: '',
  stop_reason: 'end_of_message',
  tool_calls: [{ call_id: 'c', tool_name: 'f', arguments: { a: 'x' } }],
}

const toolConfig: readonly Row[] = [
  works(
    24,
    '`tool_choice: none`',
    says(
      callOfF,
      { tool_config: { tool_choice: 'none' } },
      content(callOfF),
      stackCalls(),
      upstreamGot('tool_choice', (choice: unknown) => choice === undefined || choice === 'none'),
    ),
  ),
  works(
    25,
    'a choice must be declared',
    stack({ tools: [f], tool_config: { tool_choice: 'zzz' } }, status(400, /"tool_config","tool_choice".*zzz.*\\"f\\"/)),
    stack({ tool_config: { tool_choice: 'required' } }, status(400, /"tool_config","tool_choice".*send tools/)),
  ),
  better(
    26,
    ['`tool_choice: required` or a name', 'enforced, or asked for twice and then a 502'],
    ...['required', 'f'].map((choice) =>
      says(
        'no',
        { tool_config: { tool_choice: choice } },
        status(502, /invalid_output/),
        upstreamGotEach('messages.0.content', 'hello', 'hello'),
      ),
    ),
    stack(
      {
        model_id: 'dragoman-tiny',
        tools: [{ tool_name: 'f', parameters: { a: { param_type: 'bool' } } }],
        tool_config: { tool_choice: 'required' },
      },
      has('completion_message.tool_calls.0.tool_name', 'f'),
      has('completion_message.tool_calls.0.arguments.a', (value: unknown) => typeof value === 'boolean'),
    ),
  ),
  differs(
    27,
    ['a named choice in the request to the server', 'only the chosen tool is declared, which says the same on every server'],
    overStack(
      calling(call('f', '{"a":"x"}')),
      { tools: [f, g], tool_config: { tool_choice: 'f' } },
      stackCalls(['f', { a: 'x' }]),
      upstreamGot('tool_choice', { type: 'function', function: { name: 'f' } }),
      upstreamGot('tools.0.function.name', 'f'),
      upstreamLacks('tools.1'),
    ),
  ),
  works(
    28,
    '`parallel_tool_calls: false`',
    over(
      calling(call('f', '{}'), call('f', '{}', 1)),
      { tools: [tool()], parallel_tool_calls: false },
      upstreamGot('parallel_tool_calls', false),
      calls('f({})'),
    ),
  ),
  works(
    29,
    '`tool_prompt_format`: json, function_tag, python_list',
    ...Object.entries(written).map(([format, raw]) =>
      says(
        raw,
        {
          messages: [user('q'), earlier, { role: 'tool', call_id: 'c', content: 'r' }],
          tool_config: { tool_prompt_format: format },
        },
        upstreamGot('messages.0.content', (text: string) => text.includes(definition)),
        upstreamGot('messages.2.content', (text: string) => text.replace(/\s/g, '') === raw.replace(/\s/g, '')),
        upstreamLacks('tools'),
        stackCalls(['f', { a: 'x' }]),
      ),
    ),
  ),
  works(
    30,
    '`system_message_behavior`, `{{function_definitions}}`',
    ...Object.entries({ replace: `S ${definition}`, append: 'S {{function_definitions}}' }).map(([behavior, wanted]) =>
      says(
        'ok',
        {
          messages: [system('S {{function_definitions}}'), user('x')],
          tool_config: { tool_prompt_format: 'json', system_message_behavior: behavior },
        },
        upstreamGot('messages.0.content', (written: string | readonly { text: string }[]) => {
          const text = typeof written === 'string' ? written : written.map((part) => part.text).join('')
          return behavior === 'replace' ? text === wanted : text.includes(definition) && text.endsWith(wanted)
        }),
      ),
    ),
    stack({ tool_config: { system_message_behavior: 'zzz' } }, status(400, /"system_message_behavior"/)),
  ),
  works(
    31,
    'built-in tools: brave_search, wolfram_alpha, photogen, code_interpreter',
    ...Object.entries({ brave_search: 'query', wolfram_alpha: 'query', photogen: 'query', code_interpreter: 'code' }).map(
      ([name, parameter]) =>
        overStack(
          saying(`<|python_tag|>${name}.call(${parameter}="x")`),
          { tools: [{ tool_name: name }] },
          stackCalls([name, { [parameter]: 'x' }]),
          upstreamGot('tools.0.function.parameters.required', [parameter]),
        ),
    ),
  ),
  works(
    32,
    '`tool_choice` and `tool_config` must agree',
    stack({ tools: [f], tool_choice: 'auto', tool_config: { tool_choice: 'required' } }, status(400, /contradict/)),
    stack(
      { tools: [f], tool_prompt_format: 'json', tool_config: { tool_prompt_format: 'python_list' } },
      status(400, /contradict/),
    ),
    says('no', { tool_choice: 'required', tool_config: { tool_choice: 'required' } }, status(502, /invalid_output/)),
  ),
]

const conversations: readonly Row[] = [
  works(
    33,
    'messages as texts',
    overStack(
      fine,
      { messages: [system('S'), user('q'), { role: 'assistant', content: 'a', stop_reason: 'end_of_turn' }, user('p')] },
      upstreamGot('messages', [system('S'), user('q'), assistant('a'), user('p')]),
    ),
  ),
  better(
    34,
    ['a list of one text part', 'a text'],
    over(fine, { messages: [user([textPart('a')])] }, upstreamGot('messages.0.content', 'a')),
  ),
  works(
    35,
    'several text parts',
    over(
      fine,
      { messages: [user([textPart('a'), textPart('b')])] },
      upstreamGot('messages.0.content', [textPart('a'), textPart('b')]),
    ),
  ),
  works(
    36,
    'pictures, data URLs, `detail`',
    over(
      fine,
      { messages: [user([imagePart(picture, { detail: 'low' })])] },
      upstreamGot('messages.0.content.0.image_url', { url: picture, detail: 'low' }),
    ),
  ),
  works(
    37,
    'content items `image` with `url.uri` or `data`',
    ...[{ data: redPixel }, { url: { uri: picture } }].map((image) =>
      overStack(fine, { messages: [user({ type: 'image', image })] }, upstreamGot('messages.0.content.0.image_url.url', picture)),
    ),
    stack({ messages: [user({ type: 'image', image: {} })] }, status(400, /"messages",0,"content","image"/)),
  ),
  better(
    38,
    ['pictures of the web are inlined', 'fetched once, and checked'],
    over(fine, { messages: [user([imagePart('SITE/red.png')])] }, upstreamGot('messages.0.content.0.image_url.url', picture)),
  ),
  better(
    39,
    ['addresses are not checked', 'private ones, SVG and bad base64 are a 400'],
    ...[
      'http://10.0.0.1/',
      'http://169.254.169.254/',
      'file:///etc/passwd',
      'data:image/svg+xml;base64,PHN2Zy8+',
      'data:image/png;base64,!',
    ].map((url) => over(fine, { messages: [user([imagePart(url)])] }, status(400, /"param":"messages\[0\]/), upstreamGotNothing)),
  ),
  better(
    40,
    ['calls and their ids in the history', 'arguments of all forms'],
    ...[{ a: 1 }, '{"a": 1}'].map((args) =>
      over(
        fine,
        { messages: [user('q'), called(args), result('r')] },
        upstreamGot('messages.1.tool_calls.0.id', 'a'),
        upstreamGot('messages.1.tool_calls.0.function.name', 'f'),
        upstreamGot('messages.1.tool_calls.0.function.arguments', /^\{"a": ?1\}$/),
        upstreamGot('messages.2.tool_call_id', 'a'),
      ),
    ),
    over(
      fine,
      { messages: [user('q'), called(''), result('r')] },
      upstreamGot('messages.1.tool_calls.0.function.arguments', '{}'),
    ),
  ),
  differs(
    41,
    ['arguments in the history that are not JSON', 'are sent as a value of an object: servers refuse what is no JSON'],
    over(
      fine,
      { messages: [user('q'), called('{oops'), result('r')] },
      upstreamGot('messages.1.tool_calls.0.function.arguments', '{"input":"{oops"}'),
    ),
  ),
  works(
    42,
    'results of tools',
    over(
      fine,
      { messages: [user('q'), called('{}'), result([textPart('r')])] },
      upstreamGot('messages.2', { role: 'tool', tool_call_id: 'a', content: 'r' }),
    ),
  ),
  better(
    43,
    ['`developer`', 'in chats; not a role of llama-stack'],
    over(fine, { messages: [{ role: 'developer', content: 'x' }, user('a')] }, upstreamGot('messages.0', system('x'))),
    stack({ messages: [{ role: 'developer', content: 'x' }] }, status(400, /"messages",0,"role"/)),
  ),
  works(
    44,
    'unknown roles and no messages: 400',
    stack({ messages: [] }, status(400, /"loc":\["messages"\]/)),
    stack({ messages: [{ role: 'x', content: 'a' }] }, status(400, /"messages",0,"role"/)),
  ),
  differs(
    45,
    ['pictures of system, assistant and tools', 'of a system message a 400; of the others passed on, since tools make pictures'],
    over(
      fine,
      { messages: [{ role: 'system', content: [imagePart(picture)] }, user('x')] },
      status(400, /messages\[0\]\.content\[0\]/),
    ),
    over(
      fine,
      { messages: [user('q'), called('{}'), result([textPart('r'), imagePart(picture)])] },
      upstreamGot('messages.2.content', [textPart('r'), imagePart(picture)]),
    ),
    over(
      fine,
      { messages: [user('q'), assistant([imagePart(picture)]), user('p')] },
      upstreamGot('messages.1.content', [imagePart(picture)]),
    ),
  ),
  better(
    46,
    ['thoughts in the history', 'by both names'],
    ...['reasoning_content', 'reasoning'].map((name) =>
      over(
        fine,
        { messages: [user('a'), assistant('b', { [name]: 'c' }), user('d')] },
        upstreamGot('messages.1.reasoning_content', 'c'),
        upstreamGot('messages.1.reasoning', 'c'),
      ),
    ),
  ),
  works(
    47,
    'messages of a completion and of a tool, with `call_id`, `tool_name`',
    says(
      'ok',
      { messages: [user('q'), earlier, { role: 'tool', call_id: 'c', tool_name: 'f', content: 'r' }] },
      upstreamGot('messages.1.tool_calls', [{ id: 'c', type: 'function', function: { name: 'f', arguments: '{"a":"x"}' } }]),
      upstreamGot('messages.2', { role: 'tool', tool_call_id: 'c', name: 'f', content: 'r' }),
    ),
  ),
]

const schema = { type: 'object', properties: { a: { type: 'string', enum: ['x'], default: '' } } }
const parameter = (param_type: string, more: object = {}) => ({ param_type, ...more })

const definitions: readonly Row[] = [
  better(
    48,
    ['schemas reach the server', 'as they are, with defaults that are empty'],
    over(fine, { tools: [tool('f', schema)] }, upstreamGot('tools.0.function.parameters', schema)),
  ),
  works(
    49,
    'a tool without parameters',
    over(
      calling(call('f', '')),
      { tools: [{ type: 'function', function: { name: 'f' } }] },
      upstreamGot('tools.0.function', { name: 'f', parameters: { type: 'object', properties: {}, additionalProperties: false } }),
      calls('f({})'),
    ),
  ),
  better(
    50,
    ['definitions with `param_type`', 'int, float, bool, str, list[T]; required by default'],
    overStack(
      fine,
      {
        tools: [
          {
            tool_name: 'f',
            parameters: {
              a: parameter('int', { default: 0 }),
              b: parameter('list[str]', { required: false }),
              c: parameter('float', { description: 'd' }),
              d: parameter('bool', { required: false }),
            },
          },
        ],
      },
      upstreamGot('tools.0.function.parameters', {
        type: 'object',
        properties: {
          a: { type: 'integer', default: 0 },
          b: { type: 'array', items: { type: 'string' } },
          c: { type: 'number', description: 'd' },
          d: { type: 'boolean' },
        },
        required: ['a', 'c'],
      }),
    ),
  ),
]

/** What llama-stack's requests say besides their sampling. */
export const stackRequests: readonly Group[] = [
  { title: 'tools of a request', rows: toolConfig },
  { title: 'conversations', rows: conversations },
  { title: 'definitions of tools', rows: definitions },
]
