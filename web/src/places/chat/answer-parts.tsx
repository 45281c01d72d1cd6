import type { Signal } from '@preact/signals'
import { useEffect, useMemo, useState } from 'preact/hooks'
import { send } from '../../api/client.ts'
import { chatTexts } from '../../texts/chat.ts'
import { Button } from '../../ui/button.tsx'
import { plainName } from '../../ui/names.ts'
import { formatMs, formatRate } from '../../ui/numbers.ts'
import { Failure } from '../../ui/states.tsx'
import { answer } from './answers.ts'
import { type Conversation, type Message, replaced, type ToolCall } from './conversation.ts'
import { change } from './library.ts'
import { schemaProblems } from './schema-check.ts'

/** The model's reasoning: one line with its time, open while it runs. */
export function Reasoning({ message, isRunning }: { readonly message: Message; readonly isRunning: boolean }) {
  const [isOpen, setOpen] = useState<boolean | undefined>(undefined)
  const { reasoning = '', reasoningMs = 0, text } = message
  const isThinking = isRunning && text === ''
  return (
    <details
      class="fold"
      open={isOpen ?? isThinking}
      onToggle={({ currentTarget, isTrusted }) => {
        const { open } = currentTarget
        if (isTrusted && open !== (isOpen ?? isThinking)) setOpen(open)
      }}
    >
      <summary>{isThinking ? chatTexts.thinking : chatTexts.thought(formatMs(reasoningMs))}</summary>
      <div class="fold-text">{reasoning}</div>
    </details>
  )
}

type CallsProps = {
  readonly conversation: Signal<Conversation>
  readonly message: Message
  readonly isLast: boolean
  readonly isRunning: boolean
  readonly model: string
}

/** Calls of tools as they happen. The caller's own wait for a result, which is typed here. */
export function Calls({ conversation, message, isLast, isRunning, model }: CallsProps) {
  const calls = message.calls ?? []
  const waiting = calls.filter(({ by }) => by === 'caller')
  const setResult = (id: string, result: string) => {
    const changed = calls.map((call) => (call.id === id ? { ...call, result } : call))
    change(conversation, replaced(conversation.value, { ...message, calls: changed }))
  }
  return (
    <div class="calls">
      {calls.map((call) => (
        <Call
          key={call.id}
          call={call}
          session={conversation.value.id}
          isRunning={isRunning}
          onResult={isLast && !isRunning && call.by === 'caller' ? (result) => setResult(call.id, result) : undefined}
        />
      ))}
      {isLast && !isRunning && waiting.length > 0 && (
        <Button
          disabled={waiting.some(({ result }) => result === undefined)}
          onClick={() => answer(conversation, message.id, model)}
        >
          {chatTexts.toolSend}
        </Button>
      )}
    </div>
  )
}

type CallProps = {
  readonly call: ToolCall
  /** The session that has its files. */
  readonly session: string
  readonly isRunning: boolean
  readonly onResult: ((result: string) => void) | undefined
}

function Call({ call, session, isRunning, onResult }: CallProps) {
  const { id, name, input, by, result, isError, waits, pictures = [] } = call
  const isServer = by === 'server'
  const isAsked = waits === true && isRunning
  const runs = isServer && isRunning && result === undefined
  return (
    <details class="fold" open={isAsked || onResult !== undefined}>
      <summary>
        {isAsked ? chatTexts.toolWaits(name) : runs ? chatTexts.toolRuns(name) : chatTexts.tool(name, isServer)}{' '}
        {isError === true && <span class="bad">failed</span>}
      </summary>
      <p class="small muted">{chatTexts.toolInput}</p>
      <pre class="fold-code">{pretty(input)}</pre>
      {isAsked && <Approval id={id} name={name} />}
      {result !== undefined && onResult === undefined && (
        <>
          <p class="small muted">{chatTexts.toolResult}</p>
          <pre class="fold-code">{result}</pre>
        </>
      )}
      {pictures.map((picture) => (
        <Picture key={picture} session={session} name={picture} />
      ))}
      {onResult !== undefined && (
        <textarea
          class="field mono"
          rows={3}
          aria-label={chatTexts.toolResultOf(name)}
          placeholder={chatTexts.toolType}
          value={result ?? ''}
          onInput={(event) => onResult(event.currentTarget.value)}
        />
      )}
    </details>
  )
}

/** A picture that a program made, fetched with the key of the page. */
function Picture({ session, name }: { readonly session: string; readonly name: string }) {
  const [url, setUrl] = useState<string>()
  useEffect(() => {
    const reader = new FileReader()
    reader.onload = () => setUrl(String(reader.result))
    const load = async () => {
      const response = await send(`api/inference/sandbox/${encodeURIComponent(session)}/${encodeURIComponent(name)}`)
      reader.readAsDataURL(await response.blob())
    }
    // Its name stays: the server deletes files after a while, and some names are not valid in addresses.
    load().catch(() => undefined)
  }, [session, name])
  return url === undefined ? (
    <p class="small muted">{chatTexts.toolPicture(name)}</p>
  ) : (
    <img class="made-picture" src={url} alt={chatTexts.toolPicture(name)} />
  )
}

/** Asks whether a call may be made. */
function Approval({ id, name }: { readonly id: string; readonly name: string }) {
  const [isSent, setSent] = useState(false)
  const [problem, setProblem] = useState<unknown>()
  const decide = async (approved: boolean) => {
    setSent(true)
    setProblem(undefined)
    try {
      await send('api/inference/tool-confirm', { body: { tool_call_id: id, approved } })
    } catch (error) {
      setSent(false)
      setProblem(error)
    }
  }
  return (
    <fieldset class="plain" aria-label={chatTexts.toolWaits(name)}>
      <p role="status" class="small">
        {chatTexts.toolAsks(name)}
      </p>
      <div class="row">
        <Button kind="primary" disabled={isSent} onClick={() => void decide(true)}>
          {chatTexts.toolAllow}
        </Button>
        <Button disabled={isSent} onClick={() => void decide(false)}>
          {chatTexts.toolDeny}
        </Button>
      </div>
      {problem !== undefined && <Failure error={problem} />}
    </fieldset>
  )
}

function pretty(json: string): string {
  try {
    return JSON.stringify(JSON.parse(json), null, 2)
  } catch {
    // It is still arriving, or the model wrote something else.
    return json
  }
}

/** Whether the answer matches the requested schema. */
export function SchemaLine({ text, schema }: { readonly text: string; readonly schema: string }) {
  const problems = useMemo(() => problemsOf(text, schema), [text, schema])
  if (problems === undefined) return <p class="small muted">{chatTexts.schemaUnchecked}</p>
  if (problems.length === 0) {
    const hasPattern = schema.includes('"pattern')
    return <p class="small good">✓ {hasPattern ? chatTexts.schemaValidButPatterns : chatTexts.schemaValid}</p>
  }
  return (
    <div class="small bad">
      ✗ {chatTexts.schemaInvalid}
      <ul>
        {problems.slice(0, 10).map((problem) => (
          <li key={problem}>{plainName(problem)}</li>
        ))}
      </ul>
    </div>
  )
}

/** Undefined: the schema is too much work. */
function problemsOf(text: string, schema: string): readonly string[] | undefined {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    // The answer ended early, or is something else.
    return [chatTexts.schemaNotJson]
  }
  try {
    return schemaProblems(value, JSON.parse(schema))
  } catch {
    // An imported one may not be JSON either.
    return undefined
  }
}

/** One muted line: tokens, speed, the cached part, and the reason for an unusual end. */
export function FactsLine({ message, onContinue }: { readonly message: Message; readonly onContinue: (() => void) | undefined }) {
  const { facts, finish, state, model, limit } = message
  const parts = [model && plainName(model)]
  if (facts !== undefined) {
    const { promptTokens, cachedTokens, outputTokens, tokensPerSecond, firstTokenMs } = facts
    parts.push(chatTexts.promptTokens(promptTokens))
    if (cachedTokens > 0) parts.push(chatTexts.cached(cachedTokens))
    parts.push(chatTexts.outputTokens(outputTokens))
    if (tokensPerSecond !== undefined && tokensPerSecond > 0) parts.push(formatRate(tokensPerSecond))
    if (firstTokenMs !== undefined) parts.push(`first token after ${formatMs(firstTokenMs)}`)
  }
  if (state === 'stopped') parts.push(chatTexts.stopped.toLowerCase())
  else if (finish === 'length') parts.push(chatTexts.cut(limit))
  else if (finish === 'content_filter') parts.push(chatTexts.filtered)
  else if (finish === 'tool_calls') parts.push(chatTexts.calls)
  if (message.isEdited === true) parts.push(chatTexts.edited)
  return (
    <p class="facts">
      {parts.filter((part) => part !== undefined).join(' · ')}
      {onContinue !== undefined && (
        <button type="button" class="text-button" onClick={onContinue}>
          {chatTexts.continue}
        </button>
      )}
    </p>
  )
}
