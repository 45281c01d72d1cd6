import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'
import { startApp } from '../../support/http/app.ts'
import { pythonClients } from '../../support/process/python-clients.ts'
import { isFullLength, nightlyHint } from '../../support/process/soak-length.ts'

const suite = fileURLToPath(new URL('../../python-clients/langchain_suite.py', import.meta.url))

const call = (name: string, input: object) => ({
  raw: `<tool_call>${JSON.stringify({ name, arguments: input })}</tool_call>`,
})

/** What a model that does as it is asked answers to the questions of the suite. */
const answers = [
  { match: 'magic_function\\(3\\)|^Hello!$', reply: call('magic_function', { input: 3 }) },
  { match: 'magic_function_no_args', reply: call('magic_function_no_args', {}) },
  { match: 'What is 3 \\+ 4', reply: call('my_adder_tool', { a: 3, b: 4 }) },
  { match: 'Pirate greeting', reply: call('greeting_generator', { answer_style: 'Pirate' }) },
  { match: "customer named '([^']+)'", reply: call('unicode_customer', { customer_name: '$1', description: 'Technik' }) },
  { match: 'weather', result: 'sunny', reply: { raw: 'The sun shines there.' } },
  { match: 'weather', reply: call('get_weather', { location: 'San Francisco' }) },
  { match: 'joke', reply: { raw: '{"setup": "Why do cats purr?", "punchline": "They have a small motor."}' } },
  { reply: { raw: 'Here are some words of an answer.' } },
]

/** Tests that fetch a picture from elsewhere, record a session, or that the client libraries themselves fail (models of Pydantic 1). */
const left = ['image', 'pdf', 'audio', 'stream_time', 'pydantic_2_v1']

const loops = ['asyncio_mode=auto', 'asyncio_default_test_loop_scope=session', 'asyncio_default_fixture_loop_scope=session']

test.skipIf(!pythonClients.areInstalled || !isFullLength)(
  `LangChain's tests of chat models pass in four protocols${pythonClients.hint || nightlyHint}`,
  { timeout: 300_000 },
  async () => {
    const folder = await mkdtemp(join(tmpdir(), 'dragoman-langchain-'))
    onTestFinished(() => rm(folder, { recursive: true, force: true }))
    const script = join(folder, 'script.json')
    await writeFile(script, JSON.stringify(answers))
    const app = await startApp({ models: [{ id: 'answers', engine: 'fake', script, toolFormat: 'hermes' }] })
    onTestFinished(() => app.close())
    const plugins = ['-p', 'no:cacheprovider', '-p', 'pytest_asyncio.plugin', ...loops.flatMap((setting) => ['-o', setting])]
    const chosen = ['-k', left.map((name) => `not ${name}`).join(' and ')]
    const env = { ...pythonClients.environment(folder), URL: app.url, PYTEST_DISABLE_PLUGIN_AUTOLOAD: '1' }
    const run = promisify(execFile)('python3', ['-m', 'pytest', suite, '-q', '--tb=short', ...plugins, ...chosen], { env })
    const { stdout } = await run.catch((error: { readonly stdout: string }) => error)
    expect(stdout).toMatch(/^\d+ passed, \d+ skipped/m)
  },
)
