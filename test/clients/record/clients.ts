import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Protocol } from '../../../src/cli/agents/agent.ts'
import { agents } from '../../../src/cli/agents/agents.ts'
import type { Packages } from './installs.ts'

/** A process to start. */
export type Step = {
  /** What it does; absent: a program of calls, which says so for each. */
  readonly how?: string
  readonly command: string
  readonly args: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  /** Written before it starts, by their paths. */
  readonly files?: Readonly<Record<string, string>>
}

type ClientSetup = {
  /** Of the server. */
  readonly url: string
  /** Of the client's installation. */
  readonly folder: string
  /** The client's HOME, which is empty at first. */
  readonly home: string
}

export type Client = {
  /** As docs/reference/clients.md names it. */
  readonly title: string
  readonly packages: Packages
  readonly steps: (place: ClientSetup) => readonly Step[]
}

const model = 'example-model'
const greeting = 'hi'
const npm = (...names: Packages['names']): Packages => ({ registry: 'npm', names })
const pypi = (...names: Packages['names']): Packages => ({ registry: 'pypi', names })

/** One of programs/, which imports what is installed beside it. */
function nodeCalls(program: string): Client['steps'] {
  return ({ url, folder }) => [{ command: process.execPath, args: [join(folder, 'run-calls.mjs'), url, program] }]
}

const pythonPrograms = fileURLToPath(new URL('../../python-clients/', import.meta.url))

function pythonCalls(...modules: readonly string[]): Client['steps'] {
  return ({ url, folder }) => [
    { command: join(folder, 'bin', 'python'), args: [join(pythonPrograms, 'clients.py'), url, ...modules] },
  ]
}

/** How each agent takes one prompt and ends, and the name of its tool for commands. */
const headless: Readonly<Record<string, { readonly before: readonly string[]; readonly tool: string }>> = {
  claude: { before: ['--allowedTools', 'Bash', '-p'], tool: 'Bash' },
  codex: { before: ['exec', '--skip-git-repo-check', '--dangerously-bypass-approvals-and-sandbox'], tool: 'exec_command' },
  copilot: { before: ['--allow-all-tools', '-p'], tool: 'bash' },
  cline: { before: ['--yolo'], tool: 'run_commands' },
  opencode: { before: ['run'], tool: 'bash' },
  pi: { before: ['-p'], tool: 'bash' },
  qwen: { before: ['--yolo', '-p'], tool: 'run_shell_command' },
}

/** An agent as `dragoman launch` configures it, in each of its protocols: a command that the model asks for, and its result. */
function agent(name: string, program = join('.bin', name)): Client['steps'] {
  const found = agents.get(name)
  const { before, tool } = headless[name] ?? {}
  if (found === undefined || before === undefined) throw new Error(`${name} is not an agent that can be launched`)
  const step = ({ url, folder, home }: ClientSetup, protocol: Protocol): Step => {
    const settings = join(home, `settings-${protocol}`)
    const target = { url, apiKey: 'unused', model, contextLength: 200_000, protocol, folder: settings }
    const { env, args, files } = found.setUp(target)
    return {
      how: `a command, over ${protocol}`,
      command: join(folder, 'node_modules', program),
      args: [...args, ...before, `Find it with ${tool}`],
      env: { ...env, CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1', PI_OFFLINE: '1' },
      files: Object.fromEntries(Object.entries(files).map(([file, content]) => [join(settings, file), content])),
    }
  }
  return (place) => found.protocols.map((protocol) => step(place, protocol))
}

/** Codex with its own provider for Ollama. */
const codexOllama: Client['steps'] = ({ url, folder, home }) => [
  {
    how: 'a command, as a local provider',
    command: join(folder, 'node_modules', '.bin', 'codex'),
    args: ['exec', '--oss', '--local-provider', 'ollama', '-m', model, '--skip-git-repo-check', 'hi'],
    env: { CODEX_HOME: home, CODEX_OSS_PORT: new URL(url).port },
  },
]

/** Over its provider for Ollama it sends the same. */
const continueCli: Client['steps'] = ({ url, folder, home }) => {
  const served = { name: model, model, roles: ['chat'], provider: 'openai', apiBase: `${url}/v1`, apiKey: 'unused' }
  const file = join(home, 'config.yaml')
  return [
    {
      how: 'a command',
      command: join(folder, 'node_modules', '.bin', 'cn'),
      args: ['--config', file, '--auto', '-p', 'Find it with Bash'],
      env: { CONTINUE_TELEMETRY_ENABLED: '0' },
      files: { [file]: JSON.stringify({ name: 'local', version: '1.0.0', models: [served] }) },
    },
  ]
}

/** It has its models in a file. */
const llm: Client['steps'] = ({ url, folder, home }) => {
  const entry = { model_id: model, model_name: model, api_base: `${url}/v1`, supports_tools: true, supports_schema: true }
  const files = { [join(home, 'extra-openai-models.yaml')]: JSON.stringify([entry]) }
  const step = (how: string, ...args: readonly string[]): Step => ({
    how,
    command: join(folder, 'bin', 'llm'),
    args: ['-m', model, '--key', 'unused', ...args],
    env: { LLM_USER_PATH: home },
    files,
  })
  const weather = join(home, 'weather.py')
  const tool = 'def weather(city: str) -> str:\n    """The weather of a city."""\n    return "21 degrees"\n'
  const call = step('tools', '--functions', weather, 'How is the weather in Oslo?')
  return [step('chat', greeting), step('chat, whole', '--no-stream', greeting), { ...call, files: { ...files, [weather]: tool } }]
}

const aider: Client['steps'] = ({ url, folder }) => {
  const quiet = ['--no-git', '--yes-always', '--no-check-update', '--no-show-model-warnings', '--no-show-release-notes']
  const step = (how: string, ...args: readonly string[]): Step => ({
    how,
    command: join(folder, 'bin', 'aider'),
    args: [...quiet, '--analytics-disable', ...args, '--message', greeting],
    env: { OLLAMA_API_BASE: url, OPENAI_API_BASE: `${url}/v1`, OPENAI_API_KEY: 'unused', LITELLM_LOCAL_MODEL_COST_MAP: 'True' },
  })
  return [step('a question', '--model', `openai/${model}`), step('a question', '--model', `ollama_chat/${model}`)]
}

/** Its page needs chromium. */
const sillyTavern: Client['steps'] = ({ url, folder }) => {
  const program = fileURLToPath(new URL('../../sillytavern/record.ts', import.meta.url))
  return [{ command: process.execPath, args: [...process.execArgv, program, url, folder] }]
}

/** The clients that are recorded, by the names of their folders. */
export const clients: Readonly<Record<string, Client>> = {
  'openai-python': { title: 'openai (Python)', packages: pypi('openai', 'pydantic'), steps: pythonCalls('openai_client') },
  'openai-npm': { title: 'openai (npm)', packages: npm('openai'), steps: nodeCalls('openai') },
  'anthropic-python': { title: 'anthropic (Python)', packages: pypi('anthropic'), steps: pythonCalls('anthropic_client') },
  'anthropic-npm': { title: '@anthropic-ai/sdk (npm)', packages: npm('@anthropic-ai/sdk'), steps: nodeCalls('anthropic') },
  'ollama-python': { title: 'ollama (Python)', packages: pypi('ollama'), steps: pythonCalls('ollama_client') },
  'ollama-npm': { title: 'ollama (npm)', packages: npm('ollama'), steps: nodeCalls('ollama') },
  'langchain-openai-python': {
    title: 'LangChain for OpenAI (Python)',
    packages: pypi('langchain-openai'),
    steps: pythonCalls('langchain_openai_client'),
  },
  'langchain-anthropic-python': {
    title: 'LangChain for Anthropic (Python)',
    packages: pypi('langchain-anthropic'),
    steps: pythonCalls('langchain_anthropic_client'),
  },
  'langchain-ollama-python': {
    title: 'LangChain for Ollama (Python)',
    packages: pypi('langchain-ollama'),
    steps: pythonCalls('langchain_ollama_client'),
  },
  'langchain-npm': {
    title: 'LangChain (npm)',
    packages: npm('@langchain/core', '@langchain/openai', '@langchain/ollama', '@langchain/anthropic'),
    steps: nodeCalls('langchain'),
  },
  'llama-index-openai-like': {
    title: 'LlamaIndex, OpenAILike',
    packages: pypi('llama-index-llms-openai-like'),
    steps: pythonCalls('llama_index_client'),
  },
  'llama-index-ollama': {
    title: 'LlamaIndex, Ollama',
    packages: pypi('llama-index-llms-ollama'),
    steps: pythonCalls('llama_index_ollama_client'),
  },
  instructor: { title: 'instructor', packages: pypi('instructor', 'anthropic'), steps: pythonCalls('instructor_client') },
  litellm: { title: 'litellm', packages: pypi('litellm'), steps: pythonCalls('litellm_client') },
  'ai-sdk': {
    title: 'Vercel AI SDK',
    packages: npm('ai', '@ai-sdk/openai', '@ai-sdk/openai-compatible', '@ai-sdk/anthropic'),
    steps: nodeCalls('ai-sdk'),
  },
  llm: { title: 'llm', packages: pypi('llm'), steps: llm },
  goose: { title: "Goose's providers (Python)", packages: pypi('goose-sdk', 'pydantic'), steps: pythonCalls('goose_client') },
  aider: { title: 'Aider', packages: pypi('aider-chat'), steps: aider },
  claude: {
    title: 'Claude Code',
    packages: npm('@anthropic-ai/claude-code-linux-x64'),
    steps: agent('claude', join('@anthropic-ai', 'claude-code-linux-x64', 'claude')),
  },
  codex: { title: 'Codex', packages: npm('@openai/codex'), steps: agent('codex') },
  'codex-ollama': { title: 'Codex --oss', packages: npm('@openai/codex'), steps: codexOllama },
  continue: { title: 'Continue (CLI)', packages: npm('@continuedev/cli'), steps: continueCli },
  copilot: { title: 'GitHub Copilot CLI', packages: npm('@github/copilot'), steps: agent('copilot') },
  cline: { title: 'Cline', packages: npm('cline'), steps: agent('cline') },
  opencode: {
    title: 'opencode',
    packages: npm('opencode-ai'),
    steps: agent('opencode', join('opencode-linux-x64', 'bin', 'opencode')),
  },
  pi: { title: 'pi', packages: npm('@mariozechner/pi-coding-agent'), steps: agent('pi') },
  qwen: { title: 'Qwen Code', packages: npm('@qwen-code/qwen-code'), steps: agent('qwen') },
  sillytavern: { title: 'SillyTavern', packages: npm('sillytavern'), steps: sillyTavern },
}
