import { readFile, realpath, rename, rm, stat, writeFile } from 'node:fs/promises'
import { isDeepStrictEqual } from 'node:util'
import { isMap, isSeq, parseDocument } from 'yaml'
import { textOfFile } from '../../base/text/utf8.ts'
import { AppError } from '../../contract/errors.ts'
import { type Change, editText } from './edit-text.ts'
import type { Value } from './search.ts'

/** Writes settings of a model into a configuration file, whose comments stay. Throws `invalid-request` if the file does not have the model. */
export async function writeSettings(named: string, id: string, settings: Value['settings']): Promise<void> {
  // A link stays one.
  const file = await realpath(named)
  const text = textOfFile(await readFile(file))
  const changed = withSettings(text, { id, settings, isJson: /\.json$/i.test(file) })
  if (changed === undefined) {
    throw new AppError('invalid-request', `'${file}' has no model '${id}': add it there, or set the values where it is`)
  }
  // It may hold keys that only its owner reads.
  const { mode } = await stat(file)
  const draft = `${file}.${process.pid}`
  try {
    await writeFile(draft, changed, { mode })
    await rename(draft, file)
  } finally {
    await rm(draft, { force: true })
  }
}

type Writing = { readonly id: string; readonly settings: Value['settings']; readonly isJson: boolean }

/** The text of a configuration with settings of a model; undefined if it does not have the model. */
export function withSettings(text: string, { id, settings, isJson }: Writing): string | undefined {
  const document = parseDocument(text)
  const models = document.get('models')
  const model = isSeq(models) ? models.items.find((item) => isMap(item) && item.get('id') === id) : undefined
  if (!isMap(model)) return undefined
  const changes = Object.entries(settings).flatMap(([name, value]): Change[] => {
    const own = model.get(name)
    const inner = isMap(own) ? withoutSource(value) : undefined
    if (inner === undefined || !isMap(own)) return [{ map: model, name, value }]
    return Object.entries(inner).map(([key, changed]) => ({ map: own, name: key, value: changed }))
  })
  const edited = editText({ text, isJson }, changes)
  if (!isDeepStrictEqual(parseDocument(edited).toJS(), plainWith(document.toJS(), id, settings)))
    throw new AppError(
      'invalid-request',
      `the file uses settings of the model '${id}' elsewhere, too: set the values where it is`,
    )
  return edited
}

/** A source stays as it is written, so that of a draft only the rest is changed. */
function withoutSource(value: unknown): object | undefined {
  if (typeof value !== 'object' || value === null || !('source' in value)) return undefined
  const { source: _, ...others } = value
  return others
}

type Plain = { readonly models: readonly Record<string, unknown>[] }

function plainWith(document: Plain, id: string, settings: Value['settings']): unknown {
  // What several places share is copied.
  const copy: Plain = JSON.parse(JSON.stringify(document))
  const model = copy.models.find((one) => one.id === id) ?? {}
  for (const [name, value] of Object.entries(settings)) {
    const [own, inner] = [model[name], withoutSource(value)]
    model[name] = inner !== undefined && typeof own === 'object' ? { ...own, ...inner } : value
  }
  // Undefined values are removed.
  return JSON.parse(JSON.stringify(copy))
}
