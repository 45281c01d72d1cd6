import {
  callArguments,
  calls,
  callsNothing,
  chat,
  content,
  type OurCase,
  ok,
  say,
  tool,
  upstreamCall,
  user,
  weather,
  wholeAndStreamed,
} from './case-parts.ts'

/** Text of a model that calls `get_weather` in B under a name that is nearly right. */
const nearlyRight: Readonly<Record<string, string>> = {
  llama3: '{"name": "Get_Weather", "parameters": {"city": "B"}}',
  'mistral-named': '[TOOL_CALLS]functions.get_weather[ARGS]{"city": "B"}',
  'deepseek-v3.1':
    '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>get-weather<｜tool▁sep｜>{"city": "B"}<｜tool▁call▁end｜><｜tool▁calls▁end｜>',
  glm: '<tool_call>GetWeather<arg_key>city</arg_key><arg_value>B</arg_value></tool_call>',
  'qwen3-coder': '<tool_call>\n<function="get_weather">\n<parameter=city>\nB\n</parameter>\n</function>\n</tool_call>',
  hermes: '<tool_call>\n{"name": "default_api.get_weather", "arguments": {"city": "B"}}\n</tool_call>',
  pythonic: '[tools.get_weather(city="B")]',
  'minimax-m2':
    '<minimax:tool_call>\n<invoke name="mcp__sky__get_weather">\n<parameter name="city">B</parameter>\n</invoke>\n</minimax:tool_call>',
  'kimi-k2':
    '<|tool_calls_section_begin|><|tool_call_begin|>functions.get_weather<|tool_call_argument_begin|>{"city":"B"}<|tool_call_end|><|tool_calls_section_end|>',
  'command-r7b': '<|START_ACTION|>[{"tool_call_id": "0", "tool_name": "GET_WEATHER", "parameters": {"city": "B"}}]<|END_ACTION|>',
  harmony:
    '<|start|>assistant to=functions.get_weather<|channel|>commentary<|channel|>commentary <|constrain|>json<|message|>{"city":"B"}<|call|>',
}

const twoSpellings = [tool('Read', { p: { type: 'string' } }), tool('read', { p: { type: 'string' } })]
const hermesCall = (name: string) => `<tool_call>\n{"name": "${name}", "arguments": {"p": "x"}}\n</tool_call>`

const callNames: readonly OurCase[] = [
  ...Object.entries(nearlyRight).map(([format, raw]) => ({
    name: `name-nearly-right-${format}`,
    about: 'a name that is nearly right calls the only declared tool that it can mean',
    model: { format },
    raw,
    tools: weather,
    expect: calls('get_weather', { city: 'B' }),
  })),
  ...['vllm', 'ollama', 'openai'].map((server) => ({
    name: `name-nearly-right-upstream-${server}`,
    about: 'a structured call under a name that is nearly right calls the only declared tool that it can mean',
    model: { server },
    upstream: upstreamCall('functions.get_weather', ['{"city":', '"B"}']),
    steps: wholeAndStreamed({ messages: user('hi'), tools: weather }),
    expect: calls('get_weather', { city: 'B' }),
  })),
  {
    name: 'name-exact',
    about: 'a name that is declared exactly is called, though another differs in case only',
    model: { format: 'hermes' },
    raw: hermesCall('read'),
    tools: twoSpellings,
    expect: calls('read', { p: 'x' }),
  },
  {
    name: 'name-of-two-tools',
    about: 'a name that could mean two tools calls neither, and is shown',
    model: { format: 'hermes' },
    raw: hermesCall('READ'),
    tools: twoSpellings,
    expect: callsNothing('READ'),
  },
  {
    name: 'name-unknown-harmony',
    about: 'a message to a tool that is not declared is shown, and does not end the turn in silence',
    model: { format: 'harmony' },
    raw: '<|channel|>commentary to=browser.open <|constrain|>json<|message|>{"city":"B"}<|call|>',
    tools: weather,
    expect: [...callsNothing('city'), { path: content, excludes: '<|' }],
  },
  ...[
    '<|channel|>commentary to=python <|constrain|>code<|message|>print("B")<|call|>',
    '<|channel|>analysis<|message|>compute<|end|><|start|>assistant to=container.exec<|channel|>commentary<|message|>print("B")<|call|>',
    '<|channel|>analysis to=browser.search code<|message|>print("B")',
  ].map((raw, index) => ({
    name: `name-trained-with-harmony-${index + 1}`,
    about: 'a message to a tool that the model was trained with is shown without its header in a request without tools',
    model: { format: 'harmony' },
    raw,
    expect: [
      { path: content, equals: 'print("B")' },
      { path: 'choices.0.finish_reason', equals: 'stop' },
    ],
  })),
]

/** Text of a model that calls `get_time`, which has no parameters. */
const withoutArguments: Readonly<Record<string, string>> = {
  'qwen3-coder': '<tool_call>\n<function=get_time>\n</function>\n</tool_call>',
  glm: '<tool_call>get_time</tool_call>',
  'kimi-k2':
    '<|tool_calls_section_begin|><|tool_call_begin|>functions.get_time:0<|tool_call_argument_begin|><|tool_call_end|><|tool_calls_section_end|>',
  'mistral-named': '[TOOL_CALLS]get_time[ARGS]',
  hermes: '<tool_call>\n{"name": "get_time", "arguments": null}\n</tool_call>',
  'deepseek-v3.1': '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>get_time<｜tool▁sep｜><｜tool▁call▁end｜><｜tool▁calls▁end｜>',
  llama3: '{"name": "get_time", "parameters": null}',
  'functionary-v3.1': '<function=get_time></function>',
  pythonic: '[get_time()]',
}

/** Text of a model that leaves the last value open. */
const openValues: Readonly<Record<string, string>> = {
  'minimax-m2':
    '<minimax:tool_call>\n<invoke name="say">\n<parameter name="n">3</parameter>\n<parameter name="s">hello</invoke>\n</minimax:tool_call>',
  'seed-oss': '<seed:tool_call>\n<function=say>\n<parameter=n>3</parameter>\n<parameter=s>hello</seed:tool_call>',
  glm: '<tool_call>say\n<arg_key>n</arg_key>\n<arg_value>3</arg_value>\n<arg_key>s</arg_key>\n<arg_value>hello</tool_call>',
}

const callArgumentCases: readonly OurCase[] = [
  ...Object.entries(withoutArguments).map(([format, raw]) => ({
    name: `arguments-none-${format}`,
    about: 'a call without arguments has an empty object',
    model: { format },
    raw,
    tools: [tool('get_time')],
    expect: calls('get_time', {}),
  })),
  ...Object.entries(openValues).map(([format, raw]) => ({
    name: `arguments-open-value-${format}`,
    about: 'the tag that closes the call ends a value that was left open',
    model: { format },
    raw,
    tools: say,
    expect: calls('say', { n: 3, s: 'hello' }),
  })),
  {
    name: 'arguments-with-closing-tag',
    about: 'a JSON argument that contains the closing tag stays whole',
    model: { format: 'hermes' },
    raw: '<tool_call>\n{"name": "say", "arguments": {"n": 3, "s": "a </tool_call> b"}}\n</tool_call>',
    tools: say,
    expect: calls('say', { n: 3, s: 'a </tool_call> b' }),
  },
  ...(
    [
      ['after-empty-object', ['{}', '{"city":', '"B"}'], { city: 'B' }],
      ['after-null', ['null', '{"city":', '"B"}'], { city: 'B' }],
      ['only-empty-object', ['{}'], {}],
      ['never-sent', [], {}],
    ] as const
  ).flatMap(([name, pieces, json]) =>
    ['openai', 'vllm', 'dragoman'].map((server) => ({
      name: `arguments-${name}-${server}`,
      about: 'arguments of an upstream are those that it sent, or an empty object',
      model: { server },
      upstream: upstreamCall('get_weather', pieces),
      steps: wholeAndStreamed({ messages: user('hi'), tools: weather }),
      expect: calls('get_weather', json),
    })),
  ),
  ...(
    [
      ['named', { name: 't', parameters: {} }, { type: 'function', function: { name: 't' } }],
      ['absent', { name: 't' }, 'required'],
      ['strict', { name: 't', strict: true, parameters: { type: 'object', properties: {} } }, 'required'],
    ] as const
  ).map(([name, declared, choice]) => ({
    name: `arguments-schema-says-nothing-${name}`,
    about: 'a required call of a tool whose schema says nothing has an object',
    model: { builtin: true as const },
    steps: [1, 2, 3].map((seed) => {
      const sampling = { max_tokens: 80, temperature: 1, seed, stream: seed > 2 }
      const tools = [{ type: 'function', function: declared }]
      return chat({ ...sampling, messages: user('Say a word: hello'), tools, tool_choice: choice })
    }),
    expect: [ok, { path: callArguments, object: true as const }],
  })),
]

export const callCases: readonly OurCase[] = [...callNames, ...callArgumentCases]
