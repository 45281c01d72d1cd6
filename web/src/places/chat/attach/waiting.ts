import { signal } from '@preact/signals'
import type { Attachment } from '../conversation.ts'
import { readFiles } from './read-files.ts'

type Waiting = {
  readonly attachments: readonly Attachment[]
  /** Why others are not among them. */
  readonly refused: readonly string[]
  /** How many groups of files are being read. */
  readonly readings: number
}

const nothing: Waiting = { attachments: [], refused: [], readings: 0 }

/** By draft, what is sent with its message: also while another conversation or place is shown. */
const waiting = signal<ReadonlyMap<string, Waiting>>(new Map())

export function waitingFor(draft: string): Waiting {
  return waiting.value.get(draft) ?? nothing
}

export function changeWaiting(draft: string, next: Partial<Waiting>): void {
  waiting.value = new Map([...waiting.peek(), [draft, { ...(waiting.peek().get(draft) ?? nothing), ...next }]])
}

export function forgetWaiting(draft: string): void {
  waiting.value = new Map([...waiting.peek()].filter(([other]) => other !== draft))
}

/** Reads files and adds them to the message of a draft. */
export async function attach(draft: string, files: readonly File[]): Promise<void> {
  const now = () => waiting.peek().get(draft) ?? nothing
  changeWaiting(draft, { readings: now().readings + 1 })
  const { attachments, refused } = await readFiles(files)
  changeWaiting(draft, { attachments: [...now().attachments, ...attachments], refused, readings: now().readings - 1 })
}
