import { createReadStream } from 'node:fs'
import { writtenText } from '../../../base/text/text-of.ts'
import { fileReason } from '../../../canonical/failure-reason.ts'
import { messageOf } from '../../../contract/errors.ts'
import type { Lookup } from './lookup-rule.ts'
import { polledSource, type SourceOptions } from './polled-source.ts'
import type { EndpointSource, FoundEndpoint } from './source.ts'

export type FileSourceOptions = SourceOptions & {
  readonly file: string
  readonly everyMs: number
  /** Throws for a file that is not such a list, or that is cut off. */
  parse(text: string): readonly FoundEndpoint[]
}

/** Enough for more servers than a model can have. The list is parsed in one go, which blocks the event loop. */
const mostListBytes = 256 * 1024

/** The servers that a file lists. The file is read periodically: mounted ConfigMaps emit no events, and lists are small. */
export function fileSource({ file, parse, everyMs, warn, random }: FileSourceOptions): EndpointSource {
  let last: { readonly text: string; readonly lookup: Lookup } | undefined
  const look = async (): Promise<Lookup> => {
    let text: string
    try {
      text = await writtenText(createReadStream(file), { what: 'the list', mostBytes: mostListBytes })
    } catch (error) {
      return { type: 'failed', reason: `it cannot be read: ${fileReason(error)}` }
    }
    if (last?.text !== text) last = { text, lookup: lookupOf(text, parse) }
    return last.lookup
  }
  return polledSource({ name: `file: ${file}`, everyMs, look, warn, ...(random !== undefined && { random }) })
}

function lookupOf(text: string, parse: FileSourceOptions['parse']): Lookup {
  try {
    const endpoints = parse(text)
    return endpoints.length === 0 ? { type: 'empty', reason: 'it lists no servers' } : { type: 'found', endpoints }
  } catch (error) {
    return { type: 'failed', reason: messageOf(error) }
  }
}
