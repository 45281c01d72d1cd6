import type { Signal } from '@preact/signals'
import { memo } from 'preact/compat'
import { useState } from 'preact/hooks'
import { apiBase } from '../../api/base.ts'
import { apiKey } from '../../api/session.ts'
import { chatTexts } from '../../texts/chat.ts'
import { Button, IconButton } from '../../ui/button.tsx'
import { isComposing, isSending } from '../../ui/composing.ts'
import { CopyButton, copyText } from '../../ui/copy.tsx'
import { Confirm } from '../../ui/dialog.tsx'
import type { IconName } from '../../ui/icons.tsx'
import { formatTime, fullTime } from '../../ui/numbers.ts'
import { Failure } from '../../ui/states.tsx'
import { Calls, FactsLine, Reasoning, SchemaLine } from './answer-parts.tsx'
import { answer, continueAnswer, running } from './answers.ts'
import { AttachmentView } from './attach/attached-files.tsx'
import { asCurl } from './code/code.ts'
import { branchesOf, type Conversation, choosing, type Message, pathOf, replaced, withMessage, without } from './conversation.ts'
import { newId } from './ids.ts'
import { change } from './library.ts'
import { Markdown } from './markdown/markdown.tsx'
import { bodyOf } from './request.ts'
import { TokenView } from './token-view.tsx'
import { ReadButton } from './voice/read-button.tsx'

type MessageProps = {
  readonly conversation: Signal<Conversation>
  readonly message: Message
  /** None follows it in the visible branch. */
  readonly isLast: boolean
  readonly model: string
  readonly onBranch: (message: Message) => void
  /** Asks a second model the same, beside this one. */
  readonly onCompare: (message: Message) => void
}

/** Longer texts of people are folded. */
const longChars = 2000

/** A message: who, text, and on focus a row of actions. */
export const MessageView = memo(function MessageView(props: MessageProps) {
  const { message } = props
  return message.role === 'user' ? <UserMessage {...props} /> : <Answer {...props} />
})

function UserMessage({ conversation, message, isLast, model, onBranch }: MessageProps) {
  const [isEditing, setEditing] = useState(false)
  const [isWhole, setWhole] = useState(false)
  const { text, attachments = [] } = message
  const isLong = text.length > longChars && !isWhole
  const keep = (edited: string) => {
    setEditing(false)
    if (edited !== text) change(conversation, replaced(conversation.value, { ...message, text: edited, isEdited: true }))
  }
  const send = (edited: string) => {
    setEditing(false)
    const { parent } = message
    const again: Message = { ...message, ...(parent !== undefined && { parent }), id: newId(), text: edited, atMs: Date.now() }
    change(conversation, withMessage(conversation.value, again))
    answer(conversation, again.id, model)
  }
  return (
    <article class="message user" aria-label={chatTexts.you}>
      <div class="bubble">
        {attachments.length > 0 && (
          <div class="attachments">
            {attachments.map((each) => (
              <AttachmentView key={each.name + each.data.length} attachment={each} />
            ))}
          </div>
        )}
        {isEditing ? (
          <Editor
            text={text}
            needsText={attachments.length === 0}
            onSend={send}
            onKeep={keep}
            onCancel={() => setEditing(false)}
          />
        ) : (
          <div class="user-text">{isLong ? `${text.slice(0, longChars)}…` : text}</div>
        )}
        {isLong && !isEditing && (
          <button type="button" class="text-button" onClick={() => setWhole(true)}>
            {chatTexts.showAll(text.length)}
          </button>
        )}
      </div>
      <div class="actions">
        <Branches conversation={conversation} message={message} />
        <time class="muted small" dateTime={new Date(message.atMs).toISOString()} title={fullTime(message.atMs)}>
          {formatTime(message.atMs, Date.now())}
        </time>
        <CopyButton text={text} what={chatTexts.copyMessage} />
        <Action name={chatTexts.edit} icon="edit" onClick={() => setEditing(true)} />
        <Action name={chatTexts.branch} word={chatTexts.branchWord} icon="branch" onClick={() => onBranch(message)} />
        <Remove conversation={conversation} message={message} isLast={isLast} />
        {message.isEdited === true && <span class="small muted">{chatTexts.edited}</span>}
      </div>
      {isLast && <Button onClick={() => answer(conversation, message.id, model)}>{chatTexts.answerThis}</Button>}
    </article>
  )
}

type EditorProps = {
  readonly text: string
  /** A question is text or files. */
  readonly needsText?: boolean
  /** Asks the model again; absent: the text is not a question. */
  readonly onSend?: (text: string) => void
  /** Changes the text, and keeps what follows. */
  readonly onKeep: (text: string) => void
  readonly onCancel: () => void
}

function Editor({ text, needsText = false, onSend, onKeep, onCancel }: EditorProps) {
  const [edited, setEdited] = useState(text)
  const isMissing = needsText && edited.trim() === ''
  const submit = () => {
    if (!isMissing) (onSend ?? onKeep)(edited)
  }
  return (
    <form
      class="editor"
      onSubmit={(event) => {
        event.preventDefault()
        submit()
      }}
      onKeyDown={(event) => {
        if (event.key !== 'Escape' || isComposing(event)) return
        event.stopPropagation()
        onCancel()
      }}
    >
      <textarea
        class="field"
        rows={onSend === undefined ? 12 : 4}
        autofocus
        aria-label={chatTexts.edit}
        value={edited}
        onInput={(event) => setEdited(event.currentTarget.value)}
        onKeyDown={(event) => {
          // An answer has many lines.
          if (!isSending(event) || (onSend === undefined && !event.ctrlKey && !event.metaKey)) return
          event.preventDefault()
          submit()
        }}
      />
      <div class="row">
        <Button kind="primary" disabled={isMissing}>
          {onSend === undefined ? chatTexts.keepEdit : chatTexts.save}
        </Button>
        {onSend !== undefined && (
          <Button disabled={isMissing} onClick={() => onKeep(edited)}>
            {chatTexts.keepEdit}
          </Button>
        )}
        <Button onClick={onCancel}>{chatTexts.cancel}</Button>
      </div>
    </form>
  )
}

function Answer({ conversation, message: kept, isLast, model, onBranch, onCompare }: MessageProps) {
  const [showsTokens, setShowsTokens] = useState(false)
  const [isEditing, setEditing] = useState(false)
  const run = running.value.get(kept.id)
  const message = run?.message.value ?? kept
  const { text, reasoning, calls = [], tokens, state, problem, schema } = message
  const isRunning = run !== undefined
  const keep = (edited: string) => {
    setEditing(false)
    // Those of the text before.
    const { tokens: _, ...others } = message
    if (edited !== text) change(conversation, replaced(conversation.value, { ...others, text: edited, isEdited: true }))
  }
  const again = () => {
    if (message.parent !== undefined) answer(conversation, message.parent, model)
  }
  const goOn = text === '' || calls.length > 0 ? undefined : () => continueAnswer(conversation, message)
  const isCut = !isRunning && (state === 'stopped' || message.finish === 'length')
  const curl = () => {
    const path = pathOf(conversation.value, message.parent)
    return asCurl(bodyOf(conversation.value, path, message.model ?? model), {
      base: apiBase(),
      needsKey: apiKey.value !== undefined,
    })
  }
  return (
    <article class="message answer" aria-label={message.model ?? chatTexts.assistant} aria-busy={isRunning}>
      {reasoning !== undefined && <Reasoning message={message} isRunning={isRunning} />}
      {isEditing ? (
        <Editor text={text} onKeep={keep} onCancel={() => setEditing(false)} />
      ) : showsTokens && tokens !== undefined ? (
        <TokenView tokens={tokens} />
      ) : (
        <Markdown text={text} isGrowing={isRunning} />
      )}
      {calls.length > 0 && (
        <Calls conversation={conversation} message={message} isLast={isLast} isRunning={isRunning} model={model} />
      )}
      {isRunning && text === '' && reasoning === undefined && <p class="muted waits">{run.waits.value || chatTexts.waiting}</p>}
      {isRunning && <div class="runs" aria-hidden="true" />}
      {state === 'broken' && (
        <Failure
          error={chatTexts.broken(text === '' ? chatTexts.nothingCame : chatTexts.kept)}
          onRetry={goOn ?? again}
          action={goOn === undefined ? chatTexts.regenerate : chatTexts.continue}
        />
      )}
      {state === 'failed' && (
        <Failure error={problem ?? ''} onRetry={goOn ?? again} {...(goOn !== undefined && { action: chatTexts.continue })} />
      )}
      {!isRunning && schema !== undefined && text !== '' && calls.length === 0 && <SchemaLine text={text} schema={schema} />}
      {!isRunning && (state !== 'failed' || text !== '') && <FactsLine message={message} onContinue={isCut ? goOn : undefined} />}
      {!isRunning && (
        <div class="actions">
          <Branches conversation={conversation} message={kept} />
          <CopyButton text={text} what={chatTexts.copyMessage} />
          {text !== '' && <ReadButton id={kept.id} />}
          <Action name={chatTexts.regenerate} icon="again" onClick={again} />
          <Action name={chatTexts.editAnswer} icon="edit" onClick={() => setEditing(true)} />
          <Action name={chatTexts.branch} word={chatTexts.branchWord} icon="branch" onClick={() => onBranch(kept)} />
          <Action name={chatTexts.compare} word={chatTexts.besideWord} icon="columns" onClick={() => onCompare(kept)} />
          <Remove conversation={conversation} message={kept} isLast={isLast} />
          <Action
            name={`${chatTexts.code}: curl`}
            word="curl"
            icon="code"
            onClick={() => void copyText(curl(), 'the curl line')}
          />
          {tokens !== undefined && (
            <Action
              name={chatTexts.tokens}
              word={chatTexts.tokensWord}
              icon="tokens"
              isPressed={showsTokens}
              onClick={() => setShowsTokens(!showsTokens)}
            />
          )}
        </div>
      )}
    </article>
  )
}

/** Deletes a message after a question: alone, or with what follows it. */
function Remove({ conversation, message, isLast }: Pick<MessageProps, 'conversation' | 'message' | 'isLast'>) {
  const [asks, setAsks] = useState(false)
  const remove = (andAfter: boolean) => {
    setAsks(false)
    change(conversation, without(conversation.value, message.id, andAfter))
  }
  return (
    <>
      <Action name={chatTexts.deleteMessage} icon="trash" onClick={() => setAsks(true)} />
      {asks && (
        <Confirm
          title={chatTexts.deleteMessageTitle}
          action={chatTexts.delete}
          onClose={() => setAsks(false)}
          onConfirm={() => remove(false)}
          {...(!isLast && { other: { name: chatTexts.deleteAfter, act: () => remove(true) } })}
        >
          <p>{chatTexts.deleteMessageWhat}</p>
        </Confirm>
      )}
    </>
  )
}

type ActionProps = {
  readonly name: string
  /** Shown beside an icon that not everybody knows; it is in the name. */
  readonly word?: string
  readonly icon: IconName
  readonly isPressed?: boolean
  readonly onClick: () => void
}

function Action({ word, isPressed, ...rest }: ActionProps) {
  return (
    <IconButton aria-pressed={isPressed} {...rest}>
      {word !== undefined && <span class="action-word">{word}</span>}
    </IconButton>
  )
}

/** The position of the message among its branches, with links to the others. */
function Branches({ conversation, message }: Pick<MessageProps, 'conversation' | 'message'>) {
  const all = branchesOf(conversation.value, message)
  if (all.length < 2) return null
  const at = all.findIndex(({ id }) => id === message.id)
  const step = (by: number, name: string, sign: string) => {
    const other = all[at + by]
    const choose = () => {
      if (other !== undefined) change(conversation, choosing(conversation.value, other))
    }
    return (
      <button type="button" class="icon-button" aria-label={name} title={name} disabled={other === undefined} onClick={choose}>
        {sign}
      </button>
    )
  }
  return (
    <span class="branches">
      {step(-1, chatTexts.previousBranch, '‹')}
      <span class="small muted" title={chatTexts.branchOf(at + 1, all.length)}>
        {at + 1}/{all.length}
      </span>
      {step(1, chatTexts.nextBranch, '›')}
    </span>
  )
}
