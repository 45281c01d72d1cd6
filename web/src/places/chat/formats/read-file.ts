import type { Conversation } from '../conversation.ts'
import { fromChatgpt, isOfChatgpt } from './chatgpt.ts'
import { fromFile } from './file.ts'
import { fromOpenWebui, isOfOpenWebui } from './open-webui.ts'

/** The conversations of an export of this page, of ChatGPT or of Open WebUI. Throws if it is something else. */
export function readFile(text: string): readonly Conversation[] {
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
