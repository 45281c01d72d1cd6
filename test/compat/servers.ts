import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { toolFormatNames } from '../../src/model-text/formats/format-names.ts'
import { builtinModel } from '../../src/registry/names/builtin-model.ts'
import { writeRandomBert } from '../support/llama/random-bert.ts'
import { builtProgram } from '../support/process/built-program.ts'
import { type ScriptedUpstream, startUpstream } from '../support/upstream/upstream.ts'
import { fine } from './answers.ts'
import type { Request } from './row.ts'

const kinds = ['vllm', 'sglang', 'openai', 'llama-server', 'dragoman', 'ollama', 'tgi', 'together', 'fireworks', 'groq'] as const
/** What a template may say about its model besides how a conversation is written. */
const describedTemplate = `{% set stop_strings = ["STOPME"] %}{% set tool_start = "<|tool_start|>" %}{% set tool_end = "<|tool_end|>" %}
{% set tool_call_format = "json" %}
{% for message in messages %}<{{ message.role }}>{{ message.content }}{% endfor %}{% if functions %}{{ functions | tojson }}{% endif %}`
const thinkingTemplate = `{% for m in messages %}<|{{ m.role }}|>{{ m.content }}
{% endfor %}{% if tools %}{{ tools | tojson }}{% endif %}<|assistant|>{% if enable_thinking %}<think>
{% endif %}{# </think> {{ tone }} {{ reasoning_effort }} #}{{ tone }}`

export type Servers = {
  readonly urls: Readonly<Record<NonNullable<Request['at']>, string>>
  readonly upstream: ScriptedUpstream
  /** Where models, templates and media are. */
  readonly folder: string
  close(): Promise<void>
}

/**
 * The server as users start it, twice: `main` has keys, the scripted engine, dragoman-tiny and models of other servers; `other` has no
 * keys, and settings that change every reply.
 */
export async function startServers(): Promise<Servers> {
  const folder = await mkdtemp(join(tmpdir(), 'dragoman-compat-'))
  const upstream = await startUpstream(fine)
  await mkdir(join(folder, 'models'))
  await mkdir(join(folder, 'templates'))
  await mkdir(join(folder, 'media'))
  await Promise.all([
    cp(builtinModel.path, join(folder, 'models', 'tiny.gguf')),
    writeRandomBert(join(folder, 'ranker.gguf'), 'rank'),
    writeFile(join(folder, 'templates', 'described.jinja'), describedTemplate),
    writeFile(join(folder, 'templates', 'thinking.jinja'), thinkingTemplate),
    writeFile(join(folder, 'templates', 'found-by-name.jinja'), '[found] {{ messages[0].content }}'),
    writeFile(join(folder, 'media', 'red.png'), Buffer.from(redPixel, 'base64')),
  ])
  const children: ChildProcess[] = []
  const start = (name: string, config: object) => serve(join(folder, name), config, children)
  const [main, other] = await Promise.all([start('main', mainConfig(folder, upstream.url)), start('other', otherConfig(folder))])
  return {
    urls: { main, other },
    upstream,
    folder,
    close: async () => {
      for (const child of children) await end(child)
      await upstream.close()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/** A picture of one pixel. */
export const redPixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC'
export const picture = `data:image/png;base64,${redPixel}`

function mainConfig(folder: string, upstream: string): object {
  const fake = { engine: 'fake', script: 'from-request' }
  const remote = { engine: 'remote', endpoints: [{ url: upstream }], upstreamModel: 'up', probe: false }
  return {
    server: { port: 0, adminKey: 'admin', apiKeys: ['user', { key: 'reader', name: 'reader', scopes: ['metrics'] }] },
    log: { level: 'fatal' },
    modelsFolder: join(folder, 'models'),
    templates: join(folder, 'templates'),
    media: { allowedLocalPath: join(folder, 'media') },
    sampling: { presets: { cold: { temperature: { override: 0, force: true }, stop: { override: ['###'], additive: true } } } },
    models: [
      { ...fake, id: 'scripted', aliases: ['default', 'gpt-*'] },
      { ...fake, id: 'short', contextLength: 20 },
      { ...fake, id: 'described', chatTemplate: join(folder, 'templates', 'described.jinja') },
      { ...fake, id: 'thinking', chatTemplate: join(folder, 'templates', 'thinking.jinja') },
      { ...fake, id: 'found-by-name' },
      { ...fake, id: 'tagged', toolFormat: 'hermes', reasoningTags: { open: '[[', close: ']]' }, callsInReasoning: true },
      ...toolFormatNames.map((name) => ({ ...fake, id: `writes-${name}`, toolFormat: name })),
      { engine: 'llama', id: 'ranker', source: join(folder, 'ranker.gguf'), slots: 1, load: 'demand' },
      ...kinds.map((server) => ({ ...remote, id: server, server })),
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
async function serve(home: string, config: object, children: ChildProcess[]): Promise<string> {
  await mkdir(home)
  const file = join(home, 'dragoman.yaml')
  await writeFile(file, JSON.stringify(config))
  const env = { ...process.env, DRAGOMAN_HOME: home }
  const child = spawn(process.execPath, [builtProgram, 'serve', '--config', file], { stdio: ['ignore', 'pipe', 'inherit'], env })
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
