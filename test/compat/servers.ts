import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, cp, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import type { RequestListener } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { toolFormatNames } from '../../src/model-text/formats/format-names.ts'
import { builtinModel } from '../../src/registry/names/builtin-model.ts'
import type { GgufValue } from '../support/llama/gguf-writer.ts'
import { writeRandomAdapter } from '../support/llama/random-adapter.ts'
import { writeRandomBert } from '../support/llama/random-bert.ts'
import { writeRandomModel } from '../support/llama/random-gguf.ts'
import { builtProgram } from '../support/process/built-program.ts'
import { hasSandbox } from '../support/tools/sandbox.ts'
import { listenOnLoopback } from '../support/upstream/loopback.ts'
import { type ScriptedUpstream, startUpstream } from '../support/upstream/upstream.ts'
import { fine } from './answers.ts'
import type { RowServer, Step } from './row.ts'

const kinds = ['vllm', 'sglang', 'openai', 'llama-server', 'dragoman', 'ollama', 'tgi', 'together', 'fireworks', 'groq'] as const
/** What a template may say about its model besides how a conversation is written. */
const describedTemplate = `{% set stop_strings = ["STOPME"] %}{% set tool_start = "<|tool_start|>" %}{% set tool_end = "<|tool_end|>" %}
{% set tool_call_format = "json" %}
{% for message in messages %}<{{ message.role }}>{{ message.content }}{% endfor %}{% if functions %}{{ functions | tojson }}{% endif %}`
const thinkingTemplate = `{% for m in messages %}<|{{ m.role }}|>{% if preserve_thinking and m.reasoning_content %}({{ m.reasoning_content }}) {% endif %}{{ m.content }}
{% endfor %}{% if tools %}{{ tools | tojson }}{% endif %}<|assistant|>{% if enable_thinking %}<think>
{% endif %}{# </think> {{ tone }} {{ reasoning_effort }} #}{{ tone }}`

export type Servers = {
  readonly urls: Readonly<Partial<Record<RowServer, string>>>
  readonly upstream: ScriptedUpstream
  /** What the service of searches was asked for. */
  readonly searches: string[]
  /** Where pages and pictures are, which the server may fetch. */
  readonly site: string
  /** Where models, templates and media are. */
  readonly folder: string
  close(): Promise<void>
}

/** The servers to which steps send something. */
export function placesOf(steps: readonly Step[]): readonly RowServer[] {
  return [...new Set(steps.flatMap((step) => ('request' in step ? [step.request.at ?? 'main'] : [])))]
}

/**
 * The server as users start it: `main` has keys, the scripted engine, dragoman-tiny and models of other servers; `other` has no keys, and
 * settings that change every reply; `tools` has the same keys, tools that it runs itself, and services of sound and pictures.
 */
export async function startServers(
  places: readonly RowServer[] = ['main', 'other', 'tools'],
  program = builtProgram,
): Promise<Servers> {
  const folder = await mkdtemp(join(tmpdir(), 'dragoman-compat-'))
  // Programs of models may run as another user.
  await chmod(folder, 0o711)
  const upstream = await startUpstream(fine)
  const searches: string[] = []
  const search = await listenOnLoopback(({ url = '' }, response) => {
    searches.push(new URL(url, 'http://x').searchParams.get('q') ?? '')
    response.setHeader('content-type', 'application/json').end(JSON.stringify(found))
  })
  const site = await listenOnLoopback(servePage, 0, siteHost)
  for (const name of ['models', 'templates', 'media', 'in-folder', 'safetensors']) await mkdir(join(folder, name))
  await Promise.all([
    cp(builtinModel.path, join(folder, 'models', 'tiny.gguf')),
    writeRandomBert(join(folder, 'ranker.gguf'), 'rank'),
    writeRandomModel(join(folder, 'advised.gguf'), { moreMetadata: advisedSampling }),
    writeRandomAdapter(join(folder, 'adapter.gguf'), 1, { base: 'advised' }),
    cp(builtinModel.path, join(folder, 'in-folder', 'in-folder-Q8_0.gguf')),
    writeFile(join(folder, 'safetensors', 'model.safetensors'), 'weights'),
    writeFile(join(folder, 'tool-user.yaml'), JSON.stringify(toolScript)),
    writeFile(join(folder, 'templates', 'described.jinja'), describedTemplate),
    writeFile(join(folder, 'templates', 'thinking.jinja'), thinkingTemplate),
    writeFile(join(folder, 'templates', 'found-by-name.jinja'), '[found] {{ messages[0].content }}'),
    writeFile(join(folder, 'media', 'red.png'), Buffer.from(redPixel, 'base64')),
    writeFile(join(folder, 'outside.png'), Buffer.from(redPixel, 'base64')),
    symlink(join(folder, 'outside.png'), join(folder, 'media', 'link.png')),
  ])
  const children: ChildProcess[] = []
  const configs = {
    main: mainConfig(folder, upstream.url),
    other: otherConfig(folder),
    tools: toolsConfig(folder, { upstream: upstream.url, search: search.origin }),
  }
  const close = async () => {
    for (const child of children) await end(child)
    await Promise.all([upstream, search, site].map((one) => one.close()))
    await rm(folder, { recursive: true, force: true })
  }
  const started = places.map(
    async (place) => [place, await serve(configs[place], { program, home: join(folder, place), children })] as const,
  )
  const urls = await Promise.all(started).catch(async (error: Error) => {
    await close()
    throw error
  })
  return { urls: Object.fromEntries(urls), upstream, searches, site: site.origin, folder, close }
}

const found = { results: [{ url: 'https://a.example/tides', title: 'Tides', content: 'Twice a day.' }] }
/** It calls what its user says, such as `call web_search {"query": "tides"}`, and repeats the result. */
const toolScript = [
  { result: '([^]*)', reply: { raw: 'The tool said: $1' } },
  {
    match: 'call (\\S+) (\\{[^]*\\})',
    reply: { raw: 'I look. <tool_call>{"name": "$1", "arguments": $2}</tool_call>' },
  },
  { reply: { raw: 'Hello.' } },
]
const mcpProgram = fileURLToPath(new URL('../support/mcp/program.mjs', import.meta.url))

const servePage: RequestListener = ({ url }, response) => {
  if (url === '/away') return response.writeHead(302, { location: 'http://127.0.0.1/red.png' }).end()
  if (url === '/red.png') return response.setHeader('content-type', 'image/png').end(Buffer.from(redPixel, 'base64'))
  return response.setHeader('content-type', 'text/html').end('<title>Tides</title><p>High water comes <b>twice</b> a day.</p>')
}

/** What the file of `advised` says of its sampling. */
const advisedSampling = new Map<string, GgufValue>([
  ['general.sampling.temp', { type: 'float32', value: 0.25 }],
  ['general.sampling.top_k', { type: 'uint32', value: 7 }],
])

/** A picture of one pixel. */
export const redPixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC'
export const picture = `data:image/png;base64,${redPixel}`

const fake = { engine: 'fake', script: 'from-request' }
const remoteAt = (upstream: string) => ({ engine: 'remote', endpoints: [{ url: upstream }], upstreamModel: 'up', probe: false })
const bothAt = (upstream: string) => [{ url: upstream }, { url: upstream.replace('/v1', '/second/v1') }]
const keyed = {
  port: 0,
  adminKey: 'admin',
  apiKeys: ['user', 'other-user', { key: 'reader', name: 'reader', scopes: ['metrics'] }],
}
/** Of the site. */
const siteHost = '127.0.0.2'

function mainConfig(folder: string, upstream: string): object {
  const remote = remoteAt(upstream)
  return {
    server: { ...keyed, allowedOrigins: ['https://page.example'] },
    log: { level: 'fatal' },
    modelsFolder: join(folder, 'models'),
    templates: join(folder, 'templates'),
    media: { allowedLocalPath: join(folder, 'media'), allowedAddresses: [siteHost] },
    sampling: { presets: { cold: { temperature: { override: 0, force: true }, stop: { override: ['###'], additive: true } } } },
    models: [
      { ...fake, id: 'scripted', aliases: ['default', 'gpt-*'] },
      { ...fake, id: 'short', contextLength: 20 },
      { ...fake, id: 'narrow', slots: 1, maxQueued: 0 },
      { ...fake, id: 'described', chatTemplate: join(folder, 'templates', 'described.jinja') },
      { ...fake, id: 'thinking', chatTemplate: join(folder, 'templates', 'thinking.jinja') },
      { ...fake, id: 'found-by-name' },
      { ...fake, id: 'tagged', toolFormat: 'hermes', reasoningTags: { open: '[[', close: ']]' }, callsInReasoning: true },
      ...toolFormatNames.map((name) => ({ ...fake, id: `writes-${name}`, toolFormat: name })),
      { engine: 'llama', id: 'ranker', source: join(folder, 'ranker.gguf'), slots: 1, load: 'demand' },
      { engine: 'llama', id: 'advised', source: join(folder, 'advised.gguf'), slots: 1, contextLength: 512, load: 'demand' },
      ...kinds.map((server) => ({ ...remote, id: server, server })),
      ...['fleet', 'pair'].map((id) => ({ ...remote, id, server: 'vllm', endpoints: bothAt(upstream) })),
      {
        ...remote,
        id: 'completions',
        server: 'vllm',
        protocol: 'completions',
        chatTemplate: join(folder, 'templates', 'thinking.jinja'),
      },
    ],
  }
}

function toolsConfig(folder: string, { upstream, search }: { readonly upstream: string; readonly search: string }): object {
  const mcp = { command: process.execPath, args: [mcpProgram] }
  return {
    server: keyed,
    log: { level: 'fatal' },
    media: { allowedAddresses: [siteHost] },
    builtinModel: false,
    tools: {
      webSearch: { kind: 'searxng', url: search },
      ...(hasSandbox && { python: true, terminal: true, sessions: { folder: join(folder, 'sandbox') } }),
      mcp: { docs: { ...mcp, approval: 'never' }, guarded: { ...mcp, approval: 'always' } },
    },
    models: [
      { engine: 'fake', script: join(folder, 'tool-user.yaml'), id: 'tool-user', toolFormat: 'hermes', aliases: ['default'] },
      { ...fake, id: 'scripted', toolFormat: 'hermes' },
      { ...remoteAt(upstream), id: 'vllm', server: 'vllm' },
      {
        ...remoteAt(upstream),
        id: 'studio',
        server: 'openai',
        services: ['speech', 'transcription', 'translation', 'images'],
      },
    ],
  }
}

function otherConfig(folder: string): object {
  const template = join(folder, 'templates', 'thinking.jinja')
  const chat = { thinking: true, preserveThinking: true, variables: { tone: 'dry' }, forcedVariables: { mood: 'calm' } }
  return {
    server: {
      port: 0,
      basePath: '/llm',
      streaming: false,
      heartbeatMs: 0,
      usageTimes: ['tabby', 'mlc'],
      shortenOutput: false,
      portFallback: true,
      debug: 'on',
    },
    log: { level: 'fatal', captureFolder: join(folder, 'captured') },
    media: { urls: 'off' },
    builtinModel: false,
    models: [
      { engine: 'fake', script: 'from-request', id: 'any', aliases: ['*'], chatTemplate: template, contextLength: 100, chat },
    ],
  }
}

/** Starts `dragoman serve` with a home of its own, and resolves with its address. */
async function serve(
  config: object,
  { program, home, children }: { readonly program: string; readonly home: string; readonly children: ChildProcess[] },
): Promise<string> {
  await mkdir(home)
  const file = join(home, 'dragoman.yaml')
  await writeFile(file, JSON.stringify(config))
  const env = { ...process.env, DRAGOMAN_HOME: home }
  const child = spawn(process.execPath, [program, 'serve', '--config', file], { stdio: ['ignore', 'pipe', 'inherit'], env })
  children.push(child)
  for await (const line of createInterface({ input: child.stdout })) {
    const url = /http:\/\/[\d.]+:\d+/.exec(line)?.[0]
    if (url !== undefined) return url
  }
  throw new Error('the server ended before it listened')
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'exit')
  child.kill('SIGKILL')
  await ended
}
