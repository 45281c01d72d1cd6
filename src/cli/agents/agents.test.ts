import { describe, expect, test } from 'vitest'
import type { Agent, Target } from './agent.ts'
import { agents } from './agents.ts'

const target = {
  url: 'http://127.0.0.1:7411',
  apiKey: 'the-key',
  model: 'org/model:Q4',
  contextLength: 65_536,
  folder: '/tmp/folder',
} as const satisfies Partial<Target>

const rows = [...agents].flatMap(([name, agent]) => agent.protocols.map((protocol) => ({ name, agent, protocol })))
const setUp = (name: string, more: Partial<Target> = {}) => {
  const agent = agents.get(name)
  if (agent === undefined) throw new Error(`no agent ${name}`)
  return agent.setUp({ ...target, protocol: agent.protocols[0], ...more })
}

/** All that an agent gets, as one text. */
const everything = (setup: ReturnType<Agent['setUp']>) => JSON.stringify(setup)

describe.each(rows)('$name over $protocol', ({ agent, protocol }) => {
  const setup = agent.setUp({ ...target, protocol })

  test('gets the address, the model and the key, and the key in no argument', () => {
    expect(everything(setup)).toContain(target.url)
    expect(everything(setup)).toContain(target.model)
    expect(JSON.stringify([setup.env, setup.files])).toContain(target.apiKey)
    expect(JSON.stringify(setup.args)).not.toContain(target.apiKey)
  })

  test('is pointed at its files by their full paths', () => {
    for (const path of Object.keys(setup.files)) {
      const folder = path.split('/').length > 1 ? `/tmp/folder/${path.split('/')[0]}` : `/tmp/folder/${path}`
      expect(JSON.stringify([setup.env, setup.args])).toContain(folder)
    }
  })

  test('gets no limit of a context that the server does not know', () => {
    const { contextLength: _, ...unknown } = target
    expect(everything(agent.setUp({ ...unknown, protocol }))).not.toContain(String(target.contextLength))
  })
})

test.each([...agents.keys()].filter((name) => name !== 'cline'))("%s gets the model's context length", (name) => {
  // The limit of these is that of the prompt: without a quarter for the output.
  expect(everything(setUp(name))).toContain(['code', 'copilot'].includes(name) ? '49152' : '65536')
})

test.each([
  [
    'claude',
    { ANTHROPIC_BASE_URL: target.url, ANTHROPIC_AUTH_TOKEN: 'the-key', ANTHROPIC_API_KEY: '', ANTHROPIC_MODEL: target.model },
  ],
  [
    'copilot',
    { COPILOT_PROVIDER_BASE_URL: `${target.url}/v1`, COPILOT_PROVIDER_WIRE_API: 'completions', COPILOT_MODEL: target.model },
  ],
  ['qwen', { DRAGOMAN_LAUNCH_KEY: 'the-key', QWEN_CODE_SYSTEM_SETTINGS_PATH: '/tmp/folder/settings.json' }],
])('%s is configured by its environment', (name, env) => {
  expect(setUp(name).env).toMatchObject(env)
})

test("Claude Code's settings file repeats its environment, since the user's own settings would win over the environment alone", () => {
  const { env, args, files } = setUp('claude')
  expect(args).toEqual(['--settings', '/tmp/folder/settings.json'])
  expect(JSON.parse(files['settings.json'] ?? '')).toEqual({ env })
})

test("Claude Code's limit of the output is a default, which is not in the file", () => {
  const { defaults, files } = setUp('claude')
  expect(defaults).toEqual({ CLAUDE_CODE_MAX_OUTPUT_TOKENS: '16384' })
  expect(files['settings.json']).not.toContain('CLAUDE_CODE_MAX_OUTPUT_TOKENS')
})

test('Codex gets its provider as TOML, with the name of the variable that holds the key', () => {
  expect(setUp('codex').args).toContain(
    'model_providers.dragoman={name="Dragoman",base_url="http://127.0.0.1:7411/v1",env_key="DRAGOMAN_LAUNCH_KEY",wire_api="responses"}',
  )
})

test('Codex keeps its own instructions: it gets the length of the context, and no catalog of models', () => {
  const { args, files } = setUp('codex', { contextLength: 32_768 })
  expect(args).toContain('model_context_window=32768')
  expect(files).toEqual({})
})

test('pi gets an extension that registers the server as a provider', async () => {
  const source = setUp('pi', { protocol: 'messages' }).files['extension.js'] ?? ''
  const { default: extension } = await import(`data:text/javascript,${encodeURIComponent(source)}`)
  const registered: unknown[] = []
  extension({ registerProvider: (...given: unknown[]) => registered.push(...given) })
  expect(registered).toMatchObject([
    'dragoman',
    { baseUrl: target.url, api: 'anthropic-messages', apiKey: 'DRAGOMAN_LAUNCH_KEY' },
  ])
})
