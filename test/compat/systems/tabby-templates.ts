import { fine } from '../answers.ts'
import { type Check, calls, event, finish, has, header, status, text, upstreamGot } from '../checks.ts'
import {
  assistant,
  asUser,
  better,
  changes,
  chat,
  differs,
  elsewhere,
  type Group,
  get,
  over,
  post,
  prompt,
  type Row,
  shownBy,
  tiny,
  tool,
  user,
  works,
  writes,
} from '../row.ts'

const described = (messages: readonly object[], more: object, ...checks: readonly Check[]) =>
  chat({ model: 'described', messages, ...more }, ...checks)

const listed = '<|tool_start|>[{"name":"f","arguments":{"a":1}}]<|tool_end|>'
const tokensOfFile = shownBy('e2e/engines/chat-defaults.test.ts', 'a template has the tokens of its file')
const started = assistant(null, { reasoning_content: 'start' })
const thinksOfCall = '[[Hm. <tool_call>{"name": "f"}</tool_call>]]Yes'

const templates: readonly Row[] = [
  differs(
    91,
    [
      'where a template is looked for',
      "what was switched to or loaded with, `chatTemplate`, the folder of templates by the model's whole name, the model's file: the card says which",
    ],
    prompt('described', [user('x')], has('prompt', /<user>x/)),
    prompt('found-by-name', [user('x')], has('prompt', '[found] x')),
    prompt('dragoman-tiny', [user('x')], has('prompt', /^<\|im_start\|>user\nx/)),
    get('/v1/model?model=found-by-name', has('parameters.prompt_template', 'found-by-name')),
    get('/v1/model?model=dragoman-tiny', has('parameters.prompt_template', 'model')),
  ),
  works(
    92,
    'filters and functions of Jinja, in a sandbox',
    shownBy('../src/jinja/jinja-template.test.ts', 'prints what Python prints'),
    shownBy('../src/jinja/jinja-template.test.ts', 'refuses what Python refuses'),
    shownBy('../src/jinja/jinja-template.test.ts', 'a Jinja template fails that would take for ever, or all the memory'),
    shownBy('../src/model-text/template/chat-template.test.ts', 'the clock of strftime_now is the one that is given'),
  ),
  works(93, '`stop_strings` of a template end the answer', described([user('abc STOPME def')], {}, text('abc '))),
  works(
    94,
    '`tool_start` and `tool_end` of a template delimit calls, and vanish',
    described(
      [user(JSON.stringify({ raw: `sure ${listed}` }))],
      { tools: [tool()] },
      calls('f({"a":1})'),
      text(/^sure ?$/),
      finish('tool_calls'),
    ),
    described([user('sure <|tool_start|><|tool_end|>')], {}, text(/^sure ?$/)),
  ),
  works(
    95,
    '`tool_call_format` of a template',
    described(
      [user(JSON.stringify({ raw: listed }))],
      { tools: [tool()], stream: true },
      event('choices.0.delta.tool_calls.0.function.name', 'f'),
      finish('tool_calls'),
    ),
    shownBy('../src/model-text/model-format.test.ts', 'is read after the tag as well'),
  ),
  better(
    96,
    [
      '`prompt_template` of a request',
      'tabbyAPI ignores it; here one of the folder for this request, of keys with the scope `admin`',
    ],
    chat({ messages: [user('abc STOPME def')], prompt_template: 'described' }, text('abc ')),
    chat({ messages: [user('abc STOPME def')] }, text('abc STOPME def')),
    chat({ prompt_template: 'x' }, status(400, /choose one of: model, described/)),
    asUser(chat({ prompt_template: 'described' }, status(403, /admin/))),
  ),
  works(
    97,
    'the variables messages, tools, add_generation_prompt',
    post(
      '/apply-template',
      { model: 'thinking', messages: [user('x')], tools: [tool('look')] },
      has('prompt', /^<\|user\|>x\n.*"look".*<\|assistant\|>$/s),
    ),
    post('/apply-template', { model: 'dragoman-tiny', messages: [user('x')] }, has('prompt', /assistant\n$/)),
    tiny({ template_vars: { messages: [] } }, status(400, /messages/)),
  ),
  works(
    98,
    'the variable `functions`',
    post(
      '/apply-template',
      { model: 'described', messages: [user('x')], functions: [{ name: 'f', parameters: {} }] },
      has('prompt', /"name": ?"f"/),
    ),
    prompt(
      'described',
      [user('x')],
      has('prompt', (all: string) => all.endsWith('<user>x')),
    ),
  ),
  works(99, '`bos_token`, `eos_token`', tokensOfFile),
  works(100, '`pad_token`, `unk_token`', tokensOfFile),
  works(
    101,
    '`template_vars`, `chat_template_kwargs`',
    ...['template_vars', 'chat_template_kwargs'].map((name) =>
      post('/apply-template', { model: 'thinking', messages: [user('x')], [name]: { tone: 'dry' } }, has('prompt', /dry$/)),
    ),
    prompt('thinking', [user('x')], has('prompt', /<\|assistant\|>$/)),
  ),
  works(
    102,
    'a first token that is there twice',
    shownBy('../src/engine/remote/completions-upstream.test.ts', 'has one BOS token where the server'),
  ),
  works(
    103,
    'an error of the template: 400',
    shownBy(
      '../src/model-text/template/chat-template.test.ts',
      'a template that refuses a conversation is a caller error with its own words',
    ),
  ),
  differs(
    104,
    ['422 without a template', '400 with the code template_failed'],
    prompt('scripted', [user('x')], status(400, /template_failed/)),
  ),
]

const chats: readonly Row[] = [
  works(
    105,
    '`add_generation_prompt`',
    post(
      '/apply-template',
      { model: 'dragoman-tiny', messages: [user('x')], add_generation_prompt: false },
      has('prompt', (all: string) => !all.endsWith('assistant\n')),
    ),
  ),
  works(
    106,
    '`response_prefix`',
    post(
      '/apply-template',
      { model: 'dragoman-tiny', messages: [user('x')], response_prefix: 'So' },
      has('prompt', /assistant\nSo$/),
    ),
    changes(tiny({ temperature: 0 }), { response_prefix: 'lamp' }),
  ),
  works(
    107,
    '`continue_final_message`',
    post(
      '/apply-template',
      { model: 'dragoman-tiny', continue_final_message: true, messages: [user('a'), assistant('So ')] },
      has('prompt', /assistant\nSo\s?$/),
    ),
    prompt('dragoman-tiny', [user('a'), assistant('So ')], has('prompt', /So.*<\|im_end\|>/s)),
  ),
  works(
    108,
    'thoughts alone are continued',
    post(
      '/apply-template',
      { model: 'dragoman-tiny', continue_final_message: true, messages: [user('q'), started] },
      has('prompt', /<think>\nstart$/),
    ),
    tiny(
      { continue_final_message: true, messages: [user('q'), started], temperature: 0 },
      has('choices.0.message.reasoning_content', /./),
    ),
  ),
  works(
    109,
    '`reasoning_effort`, `enable_thinking`, `verbosity`',
    tiny({ enable_thinking: true }, has('choices.0.message.reasoning_content', /\w/)),
    tiny({ enable_thinking: false }, has('choices.0.message.reasoning_content', null)),
    tiny({ reasoning_effort: 'high' }, has('choices.0.message.reasoning_content', /\w/)),
    tiny({ reasoning_effort: 'none' }, has('choices.0.message.reasoning_content', null)),
    tiny({ verbosity: 'low' }, header('x-dragoman-ignored', /verbosity/)),
    over(fine, { model: 'openai', verbosity: 'low' }, upstreamGot('verbosity', 'low')),
  ),
  works(
    110,
    '`template_vars_default`, `template_vars_force`: `chat` of a model',
    elsewhere(post('/llm/apply-template', { messages: [user('x')] }, has('prompt', /<think>\ndry$/))),
    elsewhere(post('/llm/apply-template', { messages: [user('x')], template_vars: { tone: 'warm' } }, has('prompt', /warm$/))),
    shownBy('e2e/engines/chat-defaults.test.ts', "with its operator's defaults"),
  ),
  works(
    111,
    'budgets of thinking',
    tiny(
      { enable_thinking: true, thinking_budget: 0, max_tokens: 20, temperature: 0 },
      has('choices.0.message.reasoning_content', (thought: unknown) => thought === null || thought === ''),
      text(/\w/),
    ),
    tiny(
      { enable_thinking: true, reasoning_budget: 3, max_tokens: 30, temperature: 0 },
      has('choices.0.message.reasoning_content', (thought: string) => /^\w+ \w+/.test(thought) && thought.length < 20),
      text(/\w/),
    ),
    tiny(
      { enable_thinking: true, reasoning_budget: -1, max_tokens: 30, temperature: 0 },
      has('choices.0.message.reasoning_content', (thought: string) => thought.length > 25),
    ),
  ),
  better(
    112,
    ['`reasoning_budget_message`', 'also before a constrained answer, and behind llama-server'],
    tiny(
      { thinking: true, thinking_budget: 2, reasoning_budget_message: 'Enough.', max_tokens: 60, regex: '[a-z]{3}' },
      has('choices.0.message.reasoning_content', /Enough\.$/),
      text(/^[a-z]{3}$/),
    ),
    shownBy('e2e/engines/engine-llama-server.test.ts', 'thinking ends with its budget, and with the message for that'),
  ),
  works(
    113,
    '`reasoning_start_token`, `reasoning_end_token`: `reasoningTags` of a model',
    writes('[[Hm.]]Yes', { model: 'tagged' }, has('choices.0.message.reasoning_content', 'Hm.'), text('Yes')),
  ),
  differs(
    114,
    ['`tool_calls_in_reasoning`, which is on', '`callsInReasoning` of a model, which is off: calls in reasoning are thoughts'],
    writes(
      thinksOfCall,
      { model: 'tagged', tools: [tool()] },
      has('choices.0.message.tool_calls.0.function.name', 'f'),
      text('Yes'),
    ),
    shownBy('reasoning-tags.test.ts', 'are thoughts unless the operator wants them made'),
  ),
]

/** Templates and chats of tabbyAPI. */
export const tabbyTemplates: readonly Group[] = [
  { title: 'templates', rows: templates },
  { title: 'chats', rows: chats },
]
