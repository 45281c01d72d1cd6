import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import { keptHere } from '../../api/browser-kept.ts'
import { allows } from '../../api/session.ts'
import { linkTo } from '../../frame/router.ts'
import { chatTexts } from '../../texts/chat.ts'
import { Button } from '../../ui/button.tsx'
import { isSending } from '../../ui/composing.ts'
import { icons } from '../../ui/icons.tsx'
import { AttachedFiles } from './attach/attached-files.tsx'
import { pastedFile } from './attach/read-files.ts'
import type { Unread } from './attach/unread.ts'
import { useDrop } from './attach/use-drop.ts'
import { attach, changeWaiting, forgetWaiting, waitingFor } from './attach/waiting.ts'
import type { Attachment } from './conversation.ts'
import type { Model } from './models.ts'
import { RecordButton } from './voice/record-button.tsx'

type ComposerProps = {
  /** The owner of the draft, which is kept even when the page is closed. */
  readonly draft: string
  readonly isRunning: boolean
  /** False until the models are known: an earlier message is sent then. */
  readonly canSend: boolean
  /** The last answers are complete: what was written meanwhile follows them. */
  readonly isComplete: boolean
  /** The model that answers; of two, the first. */
  readonly model: Model | undefined
  /** Why attachments cannot be sent; undefined: they can. */
  readonly refusal: (attachments: readonly Attachment[]) => Unread | undefined
  /** Lets another model answer, which reads the attachments. */
  readonly onUse: (model: string, attachments: readonly Attachment[]) => void
  readonly onSend: (text: string, attachments: readonly Attachment[]) => void
  readonly onStop: () => void
}

const draftName = (draft: string) => `dragoman.draft.${draft}`

/** The editor of a message: Enter sends, on a phone the button; files arrive by paste, drop or the button. */
export function Composer({ draft, isRunning, canSend, isComplete, model, refusal, onUse, onSend, onStop }: ComposerProps) {
  const field = useRef<HTMLTextAreaElement>(null)
  const [text, setText] = useState('')
  const { attachments, refused, readings } = waitingFor(draft)
  const isReading = readings > 0
  const take = useCallback((files: readonly File[]) => void attach(draft, files), [draft])
  const isOver = useDrop(take)
  const [waitsFor, setWaitsFor] = useState<string | undefined>(undefined)
  const waitsToSend = waitsFor === draft
  useEffect(() => {
    setText(keptHere.get(draftName(draft)) ?? '')
    setWaitsFor(undefined)
    if (!matchMedia('(pointer: coarse)').matches) field.current?.focus()
  }, [draft])
  const write = (next: string) => {
    setText(next)
    setWaitsFor(undefined)
    keptHere.set(draftName(draft), next === '' ? undefined : next)
  }
  const isEmpty = text.trim() === '' && attachments.length === 0
  const unread = refusal(attachments)
  const submit = () => {
    if (isEmpty || isReading || unread !== undefined) return
    if (!canSend || isRunning) return setWaitsFor(draft)
    onSend(text, attachments)
    write('')
    forgetWaiting(draft)
  }
  useEffect(() => {
    if (!waitsToSend || !canSend || isRunning) return
    if (isComplete) submit()
    else setWaitsFor(undefined)
  }, [waitsToSend, canSend, isRunning])
  return (
    <form
      class="composer"
      data-over={isOver ? '' : undefined}
      onSubmit={(event) => {
        event.preventDefault()
        submit()
      }}
    >
      {isOver && <p class="composer-over">{chatTexts.drop}</p>}
      {refused.map((why) => (
        <p key={why} class="bad small" role="alert">
          {why}
        </p>
      ))}
      {unread !== undefined && (
        <div class="unread">
          <p class="bad small" role="alert">
            {unread.why}
          </p>
          {unread.instead !== undefined ? (
            <Button onClick={() => onUse(unread.instead ?? '', attachments)}>{chatTexts.useInstead(unread.instead)}</Button>
          ) : (
            allows('admin') && <a href={linkTo('models', [], { add: 'model' })}>{chatTexts.addInstead}</a>
          )}
        </div>
      )}
      {isReading && (
        <p class="muted small" role="status">
          {chatTexts.readingFiles}
        </p>
      )}
      {waitsToSend && isRunning && (
        <p class="muted small" role="status">
          {chatTexts.waitsToSend}
        </p>
      )}
      <AttachedFiles attachments={attachments} model={model} onChange={(next) => changeWaiting(draft, { attachments: next })} />
      <textarea
        ref={field}
        class="composer-text"
        rows={1}
        aria-label={chatTexts.placeholder}
        placeholder={chatTexts.placeholder}
        value={text}
        onInput={(event) => write(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (!isSending(event)) return
          event.preventDefault()
          submit()
        }}
        onPaste={(event) => {
          const { files, text: pasted } = readPaste(event.clipboardData)
          const long = pastedFile(pasted)
          if (files.length === 0 && long === undefined) return
          event.preventDefault()
          if (files.length > 0) take(files)
          else if (long !== undefined) changeWaiting(draft, { attachments: [...attachments, long] })
        }}
      />
      <div class="composer-end">
        <label class="icon-button" title={chatTexts.attach}>
          <icons.attach />
          <input
            type="file"
            multiple
            class="unseen"
            aria-label={chatTexts.attach}
            onChange={(event) => {
              take([...(event.currentTarget.files ?? [])])
              event.currentTarget.value = ''
            }}
          />
        </label>
        {model?.architecture?.input_modalities.includes('audio') === true && (
          <RecordButton onRecorded={(file) => take([file])} onProblem={(why) => changeWaiting(draft, { refused: [why] })} />
        )}
        <span class="space" />
        {isRunning && <StopButton onStop={onStop} />}
        {!(isRunning && isEmpty) && <SendButton isDisabled={isEmpty || isReading || waitsToSend || unread !== undefined} />}
      </div>
    </form>
  )
}

/** Spreadsheets and word processors put a picture of what was copied beside its text: the text is meant. */
function readPaste(data: DataTransfer | null): { readonly files: readonly File[]; readonly text: string } {
  const text = data?.getData('text/plain') ?? ''
  const isDrawnText = text.trim() !== '' && data?.types.includes('text/html') === true
  const files = [...(data?.files ?? [])].filter(({ type }) => !(isDrawnText && type.startsWith('image/')))
  return { files, text }
}

function StopButton({ onStop }: Pick<ComposerProps, 'onStop'>) {
  return (
    <Button kind="send" aria-label={chatTexts.stop} title={`${chatTexts.stop} (Esc)`} onClick={onStop}>
      <icons.stop />
    </Button>
  )
}

function SendButton({ isDisabled }: { readonly isDisabled: boolean }) {
  return (
    <Button kind="primary send" aria-label={chatTexts.send} disabled={isDisabled}>
      <icons.send />
    </Button>
  )
}
