import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { encodeGguf, type GgufValue } from '../support/llama/gguf-writer.ts'
import { llamaServerBinary } from '../support/llama/llama-server.ts'
import { readLlamaTemplates } from '../support/llama/llama-templates.ts'
import type { Case } from './case.ts'

/** Why a case cannot run on this machine; undefined when it can. */
export function whySkipped({ model }: Case): string | undefined {
  if (model.llamaServer === true && llamaServerBinary === undefined) return 'no llama-server: `npm run llama-server` builds one'
  return model.template !== undefined && readLlamaTemplates() === undefined ? 'node-llama-cpp is not installed' : undefined
}

/** The settings of a case's model; undefined for the built-in one. `upstreamUrl` ends where the case's id begins. */
export function modelSettings({ id, model }: Case, home: string, upstreamUrl: string): object | undefined {
  const { builtin, format, gguf, llamaServer, protocol, server } = model
  if (builtin === true) return undefined
  const template = model.template === undefined ? {} : { chatTemplate: templateFile(home, model.template) }
  if (server !== undefined) {
    const endpoints = [{ url: `${upstreamUrl}/${id}/v1` }]
    const remote = { id, engine: 'remote', endpoints, server, upstreamModel: 'up', probe: false, load: 'demand' }
    return { ...remote, ...template, ...(protocol && { protocol }) }
  }
  if (gguf !== undefined) {
    const source = join(home, model.file ?? `${id}.gguf`)
    writeFileSync(source, Buffer.concat([encodeGguf(new Map(Object.entries(gguf).map(metadata)), []), Buffer.alloc(4096)]))
    return { id, engine: 'llama', source, load: 'demand' }
  }
  if (llamaServer === true) {
    const process = { binary: llamaServerBinary, contextLength: 2048, slots: 1, threads: 1, load: 'demand' }
    return { id, engine: 'llama-server', source: 'builtin:dragoman-tiny.gguf', ...process, ...template }
  }
  return { id, engine: 'fake', script: 'from-request', load: 'demand', ...template, ...(format && { toolFormat: format }) }
}

function templateFile(home: string, name: string): string {
  const text = readLlamaTemplates()?.get(`${name}.jinja`)
  if (text === undefined) throw new Error(`llama.cpp has no chat template ${name}`)
  const file = join(home, `${name}.jinja`)
  writeFileSync(file, text)
  return file
}

/** The types are those of llama.cpp's splits; other numbers are unsigned. */
function metadata([key, value]: [string, string | number]): [string, GgufValue] {
  if (typeof value === 'string') return [key, { type: 'string', value }]
  if (key === 'split.tensors.count') return [key, { type: 'int32', value }]
  return [key, { type: key.startsWith('split.') ? 'uint16' : 'uint32', value }]
}
