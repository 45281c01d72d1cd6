import type { UsageCounter } from '../quota.ts'

type Schema<T> = { safeParse(value: unknown): { readonly data?: T | undefined } }

/** What processes tell each other under one name, and what each of them may answer. */
export type Topic<Message extends object, Answer = undefined> = {
  readonly name: string
  readonly message: Schema<Message>
  /** Absent: nobody answers. */
  readonly answer?: Schema<Answer>
}

/** Messages between processes. */
export interface Bus {
  /**
   * Sends a message to all other processes; those that are out of reach miss it. Resolves when each that can answer has done so, or has
   * taken too long, with the answers. A process that is reached in two ways hears it twice. Never rejects.
   */
  publish<Message extends object, Answer>(topic: Topic<Message, Answer>, message: Message): Promise<readonly Answer[]>
  /**
   * Hears what other processes publish; the listener returns its answer, undefined for none. `onGap` is called when messages may have been
   * missed. Resolves when it listens, or will try again.
   */
  subscribe<Message extends object, Answer>(
    topic: Topic<Message, Answer>,
    listener: (message: Message) => Answer | undefined | Promise<Answer | undefined>,
    onGap?: () => void,
  ): Promise<void>
}

/** What processes have in common. What needs an answer rejects, for PostgreSQL with `store-unavailable`, while it cannot be reached. */
export interface Shared extends Bus {
  readonly documents: SharedDocuments
  /** Counts what keys use in all processes. */
  readonly usage: UsageCounter
  /** A lock that all processes see, until it is given up or its process ends. Undefined: another holder has it. */
  lock(name: string): Promise<Lock | undefined>
}

/** Call it to give the lock up. */
export type Lock = () => void

/** Named JSON documents. While they cannot be reached, what was last read stays known. */
export interface SharedDocuments {
  /** Calls the listener with the document and after each change of it, wherever it was made; not while there is none. Resolves after the first read. */
  watch(name: string, listener: (json: unknown) => void): Promise<void>
  /** Reads a watched document again if it has changed: a message about it may be on its way. */
  refresh(name: string): Promise<void>
  /**
   * Replaces the document, undefined at first, by what `edit` makes of it. `edit` is called again when another process was faster. Resolves
   * when all processes that can answer know the new document.
   */
  change(name: string, edit: (json: unknown) => unknown): Promise<void>
}

/** A way between processes: through the process that started them, or through PostgreSQL. */
export interface Carrier extends Pick<Shared, 'usage' | 'lock'> {
  readonly documents: DocumentRows
  publish(topic: string, message: object, isAnswered: boolean): Promise<readonly unknown[]>
  subscribe(topic: string, listener: (message: unknown) => unknown, onGap: () => void): Promise<void>
}

/** Documents at rest. The first version is 1. */
export interface DocumentRows {
  /** Undefined: it has no later version. */
  read(name: string, laterThan: number): Promise<DocumentRow | undefined>
  /** False: the version before it is not the current one. */
  write(name: string, row: DocumentRow): Promise<boolean>
}

export type DocumentRow = { readonly version: number; readonly json: unknown }

/** The carrier between the processes of one server: the process that started them. */
export interface Primary extends Carrier {
  /** Gives the metrics of this process, in a form that can be summed. Returns what renders those of all processes as Prometheus' text. */
  sumMetrics(read: () => Promise<readonly unknown[]>): () => Promise<string>
}
