import { DocumentProblem } from '../../../../../src/documents/problem.ts'
import { isZip, openZip } from '../../../../../src/documents/zip.ts'
import { plainName } from '../../../ui/names.ts'
import type { Conversation } from '../conversation.ts'
import { fromChatgpt, isOfChatgpt } from './chatgpt.ts'
import { fromFile } from './file.ts'
import { fromOpenWebui, isOfOpenWebui } from './open-webui.ts'

/** The longest text that every browser can hold. */
const mostBytes = 400_000_000

/** The conversations of a file, or of the ZIP in which ChatGPT exports them beside other files. Throws if it is something else. */
export async function readFile(file: File): Promise<readonly Conversation[]> {
  const bytes = new Uint8Array(await file.arrayBuffer())
  if (!isZip(bytes)) return conversationsIn(new TextDecoder().decode(bytes))
  try {
    const zip = openZip(bytes, mostBytes)
    const names = zip.names.filter((name) => /(^|\/)conversations(-\d+)?\.json$/.test(name))
    if (names.length === 0) throw new DocumentProblem('unknown', 'has no conversations.json')
    const texts = await Promise.all(names.map((name) => zip.text(name)))
    return texts.flatMap((text = '') => conversationsIn(text))
  } catch (error) {
    if (error instanceof DocumentProblem) throw new Error(`${plainName(file.name)} ${error.message}; nothing was imported.`)
    throw error
  }
}

/** The conversations of an export of this page, of ChatGPT or of Open WebUI. */
export function conversationsIn(text: string): readonly Conversation[] {
  const found = listIn(text)
  if (found.some(isOfChatgpt)) return found.flatMap((each) => fromChatgpt(each) ?? [])
  if (found.some(isOfOpenWebui)) return found.flatMap((each) => fromOpenWebui(each) ?? [])
  return fromFile(text)
}

function listIn(text: string): readonly unknown[] {
  try {
    const value: unknown = JSON.parse(text)
    return Array.isArray(value) ? value : [value]
  } catch {
    return []
  }
}
