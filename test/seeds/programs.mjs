// The programs that other servers ship for their own APIs, by their paths in a checkout of each, and what a server of ours needs to meet them.
// `model`: `tiny` computes, `scripted` answers from `scripted.yaml`. `env`: what the program reads; `PORT` is ours.
// `reasons`: the names of tests that fail, and why that is not a defect of ours.
const keys = { user: 'sk-unsloth-0123', admin: 'admin' }
const keyed = { adminKey: keys.admin, apiKeys: [{ key: keys.user, scopes: ['inference', 'tools'] }] }
const tabby = (file, model = 'tiny') => ({ path: `tests/${file}`, model, server: keyed })
const mlcTest = (file, model = 'tiny') => ({
  path: `tests/python/serve/server/${file}`,
  model,
  server: { debug: 'on' },
  pytest: true,
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
      tabby('req_json_schema.py'),
      tabby('req_grammar.py'),
      tabby('req_tool_calls.py', 'scripted'),
      tabby('req_anthropic.py'),
      { ...tabby('req_decisions.py'), server: {} },
    ],
    reasons: [
      [/json_schema/, 'dragoman-tiny rarely ends the texts in its JSON within the 200 tokens of the program'],
      [/decisions/, '/v1/decisions is not served; structured_outputs.choice with logprobs is'],
    ],
  },
  {
    folder: 'mlc-llm',
    programs: [
      { path: 'examples/rest/python/sample_client.py', model: 'tiny' },
      mlcTest('test_server.py'),
      mlcTest('test_server_function_call.py', 'scripted'),
      mlcTest('test_server_structural_tag.py'),
    ],
    reasons: [
      [/sample_client/, 'it reads a stream in pieces of 128 bytes and takes each for a whole event'],
      [/v1_models/, 'owned_by is dragoman, not MLC-LLM'],
      [/test_metrics/, 'metrics have other names'],
      [/suffix/, 'a suffix is text to fill in before, which dragoman-tiny cannot; MLC-LLM appends it'],
      [/overlong|wrong_pos|unsupported_args/, "MLC-LLM's errors are JSON in a string; some of what it refuses is served"],
      [/invalid_logprobs/, "invalid requests are 400 with OpenAI's error, not 422"],
      [/cancellation/, 'dragoman-tiny ends its reply within the second that the test waits'],
      [/(?:max_tokens|openai_package)\[False\]/, 'dragoman-tiny ends its reply before the limit'],
      [/chat_.*True\]/, "each delta of MLC-LLM has `role`; the first one has it here, as in OpenAI's API"],
      [
        /completions.*\[True\]/,
        "each chunk of MLC-LLM's completions has `usage: null`; here with include_usage, as in OpenAI's API",
      ],
    ],
  },
  {
    folder: 'unsloth',
    programs: [
      {
        path: 'studio/backend/tests/test_studio_api.py',
        model: 'tiny',
        server: keyed,
        tools: { python: true },
        pytest: true,
        env: { SEED_KEY: keys.user },
      },
    ],
    reasons: [[/help_output/, 'it runs the command `unsloth`']],
  },
  {
    folder: 'llama-stack',
    programs: [
      {
        path: 'tests/integration/inference/test_openai_completion.py',
        model: 'scripted',
        pytest: true,
        shared: ['tests/integration/test_cases', 'tests/integration/__init__.py'],
      },
    ],
    reasons: [
      [/inference_store.*(?:openai_client|False)/, "completions are kept with `store: true`, as in OpenAI's API"],
      [/logprobs_streaming/, 'it reads `choices` of the stream instead of those of its chunks'],
      [/logprobs/, 'the scripted model has one candidate for each token'],
      [
        /completion_streaming|llama_stack_client.*stream|llama_stack_client-True/,
        'llama-stack-client 0.2.12 takes `[DONE]` for JSON; 0.7 knows it',
      ],
    ],
  },
]
