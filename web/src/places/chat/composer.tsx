import { useEffect, useRef, useState } from 'preact/hooks'
import { chatTexts } from '../../texts/chat.ts'
import { Button } from '../../ui/button.tsx'
import { isComposing } from '../../ui/composing.ts'
import { icons } from '../../ui/icons.tsx'
import { AttachedFiles } from './attach/attached-files.tsx'
import { pastedFile, readFiles } from './attach/read-files.ts'
import type { Unread } from './attach/unread.ts'
import type { Attachment } from './conversation.ts'
import type { Model } from './models.ts'
import { RecordButton } from './voice/record-button.tsx'

type ComposerProps = {
  /** The owner of the draft, which is kept even when the page is closed. */
  readonly draft: string
  readonly isRunning: boolean
  /** False until the models are known: an earlier message is sent then. */
  readonly canSend: boolean
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

/** The editor of a message: Enter sends; files arrive by paste, drop or the button. */
export function Composer({ draft, isRunning, canSend, model, refusal, onUse, onSend, onStop }: ComposerProps) {
  const field = useRef<HTMLTextAreaElement>(null)
  const [text, setText] = useState('')
  const [attachments, setAttachments] = useState<readonly Attachment[]>([])
  const [refused, setRefused] = useState<readonly string[]>([])
  const [isReading, setReading] = useState(false)
  const [isOver, setOver] = useState(false)
  const [waitsToSend, setWaitsToSend] = useState(false)
  useEffect(() => {
    setText(localStorage.getItem(draftName(draft)) ?? '')
    setAttachments([])
    if (!matchMedia('(pointer: coarse)').matches) field.current?.focus()
  }, [draft])
  const write = (next: string) => {
    setText(next)
    setWaitsToSend(false)
    if (next === '') localStorage.removeItem(draftName(draft))
    else localStorage.setItem(draftName(draft), next)
  }
  const attach = async (files: readonly File[]) => {
    setReading(true)
    const read = await readFiles(files).finally(() => setReading(false))
    setAttachments((before) => [...before, ...read.attachments])
    setRefused(read.refused)
  }
  const isEmpty = text.trim() === '' && attachments.length === 0
  const unread = refusal(attachments)
  const submit = () => {
    if (isEmpty || isRunning || isReading || unread !== undefined) return
    if (!canSend) return setWaitsToSend(true)
    onSend(text, attachments)
    write('')
    setAttachments([])
    setRefused([])
  }
  useEffect(() => {
    if (waitsToSend && canSend) submit()
  }, [waitsToSend, canSend])
  const filesOf = (transfer: DataTransfer | null) => [...(transfer?.files ?? [])]
  return (
    <form
      class="composer"
      data-over={isOver ? '' : undefined}
      onSubmit={(event) => {
        event.preventDefault()
        submit()
      }}
      onDragOver={(event) => {
        if (event.dataTransfer?.types.includes('Files') !== true) return
        event.preventDefault()
        setOver(true)
      }}
      onDragLeave={() => setOver(false)}
      onDrop={(event) => {
        const files = filesOf(event.dataTransfer)
        setOver(false)
        if (files.length === 0) return
        event.preventDefault()
        void attach(files)
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
          {unread.instead !== undefined && (
            <Button onClick={() => onUse(unread.instead ?? '', attachments)}>{chatTexts.useInstead(unread.instead)}</Button>
          )}
        </div>
      )}
      {isReading && (
        <p class="muted small" role="status">
          {chatTexts.readingFiles}
        </p>
      )}
      <AttachedFiles attachments={attachments} model={model} onChange={setAttachments} />
      <textarea
        ref={field}
        class="composer-text"
        rows={1}
        aria-label={chatTexts.placeholder}
        placeholder={chatTexts.placeholder}
        value={text}
        onInput={(event) => write(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key !== 'Enter' || event.shiftKey || isComposing(event)) return
          event.preventDefault()
          submit()
        }}
        onPaste={(event) => {
          const files = filesOf(event.clipboardData)
          const long = pastedFile(event.clipboardData?.getData('text/plain') ?? '')
          if (files.length === 0 && long === undefined) return
          event.preventDefault()
          if (files.length > 0) void attach(files)
          else if (long !== undefined) setAttachments((before) => [...before, long])
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
              void attach([...(event.currentTarget.files ?? [])])
              event.currentTarget.value = ''
            }}
          />
        </label>
        {model?.architecture?.input_modalities.includes('audio') === true && (
          <RecordButton onRecorded={(file) => void attach([file])} onProblem={(why) => setRefused([why])} />
        )}
        <span class="space" />
        {isRunning ? (
          <StopButton onStop={onStop} />
        ) : (
          <SendButton isDisabled={isEmpty || isReading || waitsToSend || unread !== undefined} />
        )}
      </div>
    </form>
  )
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
