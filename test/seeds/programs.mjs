// The programs that other servers ship for their own APIs, by their paths in a checkout of each, and what a server of ours needs to meet them.
// `model`: `tiny` computes, `scripted` answers from `scripted.yaml`. `aliases`: other names of it, by default all. `config`: what the configuration has besides. `env`: what the program
// reads; `PORT` is ours. `only`: which tests of a file, in pytest's words.
// `reasons`: the names of tests that fail, and why that is not a defect of ours.
const keys = { user: 'sk-unsloth-0123', admin: 'admin' }
const keyed = { adminKey: keys.admin, apiKeys: [{ key: keys.user, scopes: ['inference', 'tools'] }] }
const tabby = (file, model = 'tiny') => ({ path: `tests/${file}`, model, config: { server: keyed } })
const mlcTest = (file, { model = 'tiny', config = {}, only } = {}) => ({
  path: `tests/python/serve/server/${file}`,
  model,
  config: { server: { debug: 'on' }, ...config },
  pytest: true,
  only,
})
const preset = (fields) => ({ sampling: { preset: 'seeds', presets: { seeds: fields } } })
/** Tests of a model that goes on until a limit stops it. */
const talkative = 'completions_openai_package and not chat or chat_completions_max_tokens or cancellation'
const goesOn = preset({ ignore_eos: { override: true, force: true } })
const llamaStackTest = (file, model, only) => ({
  path: `tests/integration/inference/${file}`,
  model,
  // A test asks for a model that is not there.
  aliases: [],
  // llama-stack keeps all.
  config: { storage: { chatCompletions: 'all' } },
  pytest: true,
  only,
  shared: ['tests/integration/test_cases', 'tests/integration/__init__.py'],
})

/** The file of keys that tabbyAPI's programs read. */
export const apiTokens = `api_key: ${keys.user}\nadmin_key: ${keys.admin}\n`

export const seeds = [
  {
    folder: 'LLaMA-Factory',
    programs: [
      { path: 'scripts/api_example/test_toolcall.py', model: 'scripted', env: { API_PORT: 'PORT' } },
      { path: 'scripts/api_example/test_image.py', model: 'scripted', env: { API_PORT: 'PORT' } },
    ],
    reasons: [],
  },
  {
    folder: 'tabbyAPI',
    programs: [
      tabby('req_completion.py'),
      tabby('req_logprob.py'),
      tabby('req_json_schema.py', 'scripted'),
      tabby('req_grammar.py'),
      tabby('req_tool_calls.py', 'scripted'),
      ...['req_harmony.py', 'req_hy3.py', 'req_long.py'].map((file) => tabby(file, 'scripted')),
      tabby('req_anthropic.py'),
      { ...tabby('req_decisions.py'), config: {} },
    ],
    reasons: [],
  },
  {
    folder: 'mlc-llm',
    programs: [
      { path: 'examples/rest/python/sample_client.py', model: 'tiny' },
      mlcTest('test_server.py', { only: `not (${talkative})` }),
      mlcTest('test_server.py', { only: talkative, config: goesOn }),
      mlcTest('test_server_function_call.py', { model: 'scripted' }),
      mlcTest('test_server_image.py', { model: 'scripted' }),
      mlcTest('test_server_structural_tag.py'),
    ],
    reasons: [
      [/sample_client/, 'it takes each 128 bytes of a stream for an event, and events are longer, also those of MLC-LLM'],
      [/v1_models|cancellation/, 'owned_by is dragoman, not MLC-LLM'],
      [/test_metrics/, 'metrics have other names'],
      [/suffix/, "a suffix is what follows the reply, as in OpenAI's API, and dragoman-tiny cannot fill in; MLC-LLM appends it"],
      [/overlong/, "it reads a JSON text in the JSON of an error; OpenAI's is an object"],
      [/wrong_pos|unsupported_args/, 'it wants an error; system prompts anywhere and best_of are served'],
      [/invalid_logprobs/, "invalid requests are 400 with OpenAI's error, not 422"],
      [/chat_.*True\]/, "it wants `role` in each delta; OpenAI's SDK for Python joins them: assistantassistant"],
    ],
  },
  {
    folder: 'unsloth',
    programs: [
      {
        path: 'studio/backend/tests/test_studio_api.py',
        model: 'tiny',
        config: { server: keyed, tools: { python: true } },
        pytest: true,
        env: { SEED_KEY: keys.user },
      },
    ],
    reasons: [[/help_output/, 'it runs the command `unsloth`']],
  },
  {
    folder: 'llama-stack',
    programs: [
      llamaStackTest('test_openai_completion.py', 'scripted', 'not logprobs'),
      llamaStackTest('test_openai_completion.py', 'tiny', 'logprobs'),
    ],
    reasons: [[/logprobs_streaming/, 'it reads `choices` of the stream instead of those of its chunks']],
  },
  {
    // Of the time when it had inference routes of its own.
    folder: 'llama-stack-0.2',
    programs: [
      llamaStackTest('test_text_inference.py', 'scripted', 'not log_probs'),
      llamaStackTest('test_text_inference.py', 'tiny', 'log_probs'),
      llamaStackTest('test_openai_embeddings.py', 'scripted'),
    ],
    reasons: [],
  },
]
