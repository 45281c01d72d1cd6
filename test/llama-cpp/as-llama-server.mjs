// Takes the command line with which llama.cpp's tests start a llama-server, and prints the one that starts BLACK_BOX_SERVER in its place, a word
// in each line: the path of a llama-server, with the models of BLACK_BOX_MODELS, or `dragoman`, with a configuration that means the same.
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

const { BLACK_BOX_SERVER: server, BLACK_BOX_MODELS: folder } = process.env
const options = new Map()
const args = process.argv.slice(2)
for (let at = 0; at < args.length; ) {
  const hasValue = args[at + 1] !== undefined && !/^--?[a-z]/.test(args[at + 1])
  options.set(args[at].replace(/^--?/, ''), hasValue ? args[at + 1] : true)
  at += hasValue ? 2 : 1
}

const source = `${options.get('hf-repo') ?? ''} ${options.get('hf-file') ?? ''}`
const isRouter = !options.has('hf-repo')
const name = /bert|embed/.test(source) ? 'bert' : /rerank/.test(source) ? 'ranker' : /gemma/.test(source) ? 'sees' : 'random'
const model = join(folder, `${name}.gguf`)
const projector = name === 'sees' && !options.has('no-mmproj') ? join(folder, 'projector.gguf') : undefined
const notTheirs = ['hf-repo', 'hf-file', 'offline', 'mmproj-url']

process.stdout.write(`${(server === 'dragoman' ? dragoman() : llamaServer()).join('\n')}\n`)

function llamaServer() {
  const kept = [...options].filter(([key]) => !notTheirs.includes(key))
  const models = isRouter ? [] : ['--model', model, ...(projector === undefined ? [] : ['--mmproj', projector])]
  const dashes = (key) => (/^(ctk|ctv|fa)$/.test(key) ? `-${key}` : `--${key}`)
  return [server, ...kept.flatMap(([key, value]) => [dashes(key), ...(value === true ? [] : [value])]), ...models]
}

function dragoman() {
  const work = mkdtempSync(join(tmpdir(), 'black-box-'))
  const number = (key) => (options.has(key) ? Number(options.get(key)) : undefined)
  const slots = Math.max(number('parallel') ?? 4, 1)
  const context = number('ctx-size')
  const texts = { llama3: 'meta-llama-Llama-3.1-8B-Instruct.jinja' }
  const named = options.get('chat-template')
  const template = options.get('chat-template-file') ?? (texts[named] && join('../../../models/templates', texts[named]))
  const key = options.get('api-key')
  const predicted = number('n-predict') ?? -1
  const config = {
    server: {
      host: String(options.get('host')).split(',')[0],
      port: number('port'),
      ...(key !== undefined && { apiKeys: [{ key, scopes: ['admin'] }] }),
      ...(options.has('cors-origins') && { allowedOrigins: ['http://localhost:*'] }),
    },
    storage: 'off',
    log: { level: 'warn' },
    ...(options.has('media-path') && { media: { allowedLocalPath: options.get('media-path') } }),
    builtinModel: false,
    sampling: {
      preset: 'of-the-command-line',
      presets: {
        'of-the-command-line': {
          temperature: { override: number('temp') },
          seed: { override: number('seed') },
          ...(predicted > 0 && { max_tokens: { override: predicted } }),
        },
      },
    },
    ...(isRouter
      ? { modelsFolder: options.get('models-dir') ?? folder }
      : {
          models: [
            {
              id: options.get('alias') ?? 'model',
              engine: projector === undefined ? 'llama' : 'llama-server',
              ...(projector !== undefined && { binary: process.env.BLACK_BOX_LLAMA_SERVER, mmproj: projector }),
              source: model,
              aliases: ['*'],
              load: 'start',
              slots,
              ...(projector === undefined && options.has('batch-size') && { batchSize: number('batch-size') }),
              ...(context !== undefined && { contextLength: options.has('kv-unified') ? context : Math.floor(context / slots) }),
              ...(template !== undefined && { chatTemplate: resolve(template) }),
            },
          ],
        }),
  }
  const file = join(work, 'dragoman.json')
  writeFileSync(file, JSON.stringify(config))
  const program = fileURLToPath(new URL('../../dist/cli/program.js', import.meta.url))
  return [process.execPath, program, 'serve', '--config', file]
}
