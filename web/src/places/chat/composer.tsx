import { useEffect, useRef, useState } from 'preact/hooks'
import { chatTexts } from '../../texts/chat.ts'
import { isComposing } from '../../ui/composing.ts'
import { icons } from '../../ui/icons.tsx'
import { plainName } from '../../ui/names.ts'
import { readFiles } from './attach.ts'
import type { Attachment } from './conversation.ts'

type ComposerProps = {
  /** The owner of the draft, which is kept even when the page is closed. */
  readonly draft: string
  readonly isRunning: boolean
  /** False until the models are known: an earlier message is sent then. */
  readonly canSend: boolean
  /** Why attachments cannot be sent; undefined: they can. */
  readonly refusal: (attachments: readonly Attachment[]) => string | undefined
  readonly onSend: (text: string, attachments: readonly Attachment[]) => void
  readonly onStop: () => void
}

const draftName = (draft: string) => `dragoman.draft.${draft}`

/** The editor of a message: Enter sends; files arrive by paste, drop or the button. */
export function Composer({ draft, isRunning, canSend, refusal, onSend, onStop }: ComposerProps) {
  const field = useRef<HTMLTextAreaElement>(null)
  const [text, setText] = useState('')
  const [attachments, setAttachments] = useState<readonly Attachment[]>([])
  const [refused, setRefused] = useState<readonly string[]>([])
  const [isOver, setOver] = useState(false)
  const [waitsToSend, setWaitsToSend] = useState(false)
  useEffect(() => {
    setText(localStorage.getItem(draftName(draft)) ?? '')
    setAttachments([])
    if (matchMedia('(pointer: fine)').matches) field.current?.focus()
  }, [draft])
  const write = (next: string) => {
    setText(next)
    setWaitsToSend(false)
    if (next === '') localStorage.removeItem(draftName(draft))
    else localStorage.setItem(draftName(draft), next)
  }
  const attach = async (files: readonly File[]) => {
    const read = await readFiles(files)
    setAttachments((before) => [...before, ...read.attachments])
    setRefused(read.refused)
  }
  const isEmpty = text.trim() === '' && attachments.length === 0
  const unread = refusal(attachments)
  const submit = () => {
    if (isEmpty || isRunning || unread !== undefined) return
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
      {[...refused, ...(unread === undefined ? [] : [unread])].map((why) => (
        <p key={why} class="bad small" role="alert">
          {why}
        </p>
      ))}
      <Attachments attachments={attachments} onChange={setAttachments} />
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
          if (files.length === 0) return
          event.preventDefault()
          void attach(files)
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
        <span class="space" />
        {isRunning ? <StopButton onStop={onStop} /> : <SendButton isDisabled={isEmpty || waitsToSend || unread !== undefined} />}
      </div>
    </form>
  )
}

type AttachmentsProps = {
  readonly attachments: readonly Attachment[]
  readonly onChange: (attachments: readonly Attachment[]) => void
}

/** The attachments of the message, with buttons to remove them. */
function Attachments({ attachments, onChange }: AttachmentsProps) {
  if (attachments.length === 0) return null
  return (
    <ul class="attachments">
      {attachments.map((each, index) => (
        <li key={`${each.name} ${index}`}>
          <AttachmentView attachment={each} />
          <button
            type="button"
            class="icon-button"
            aria-label={chatTexts.attached(each.name)}
            onClick={() => onChange(attachments.filter((other) => other !== each))}
          >
            <icons.close />
          </button>
        </li>
      ))}
    </ul>
  )
}

function StopButton({ onStop }: Pick<ComposerProps, 'onStop'>) {
  return (
    <button type="button" class="button send" aria-label={chatTexts.stop} title={`${chatTexts.stop} (Esc)`} onClick={onStop}>
      <icons.stop />
    </button>
  )
}

function SendButton({ isDisabled }: { readonly isDisabled: boolean }) {
  return (
    <button type="submit" class="button primary send" aria-label={chatTexts.send} disabled={isDisabled}>
      <icons.send />
    </button>
  )
}

/** A picture, or the name of a file. */
export function AttachmentView({ attachment: { kind, name, data } }: { readonly attachment: Attachment }) {
  if (kind === 'image') return <img src={data} alt={name} />
  return <span class="attachment-name clip">{plainName(name)}</span>
}
