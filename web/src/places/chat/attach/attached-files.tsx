import { useEffect, useState } from 'preact/hooks'
import { fileAsText } from '../../../../../src/documents/as-message.ts'
import { call } from '../../../api/client.ts'
import { chatTexts } from '../../../texts/chat.ts'
import { IconButton } from '../../../ui/button.tsx'
import { Dialog } from '../../../ui/dialog.tsx'
import { icons } from '../../../ui/icons.tsx'
import { plainName } from '../../../ui/names.ts'
import type { Attachment } from '../conversation.ts'
import { contextOf, type Model } from '../models.ts'

type AttachmentsProps = {
  readonly attachments: readonly Attachment[]
  readonly model: Model | undefined
  readonly onChange: (attachments: readonly Attachment[]) => void
}

/** The attachments of the message, with the tokens of files, and buttons to remove them. */
export function AttachedFiles({ attachments, model, onChange }: AttachmentsProps) {
  if (attachments.length === 0) return null
  return (
    <ul class="attachments">
      {attachments.map((each, index) => (
        <li key={`${each.name} ${index}`}>
          <AttachmentView attachment={each} />
          {each.kind === 'text' && <Tokens file={each} model={model} />}
          <IconButton
            icon="close"
            name={chatTexts.attached(each.name)}
            onClick={() => onChange(attachments.filter((other) => other !== each))}
          />
        </li>
      ))}
    </ul>
  )
}

/** Most tokens of most languages have three or four characters. */
const charsPerToken = 3.5

/** How much of the context a file takes: counted by a loaded model, estimated for others, since asking would load them. */
function Tokens({ file, model }: { readonly file: Attachment; readonly model: Model | undefined }) {
  const [counted, setCounted] = useState<number | undefined>(undefined)
  const { id, state } = model ?? {}
  useEffect(() => {
    setCounted(undefined)
    if (id === undefined || state !== 'ready') return
    const leaving = new AbortController()
    const messages = [{ role: 'user', content: fileAsText(file.name, file.data) }]
    call<{ readonly input_tokens: number }>('v1/chat/count_tokens', {
      body: { model: id, messages },
      signal: leaving.signal,
    }).then(
      ({ input_tokens: count }) => setCounted(count),
      // The estimate stays.
      () => undefined,
    )
    return () => leaving.abort()
  }, [file, id, state])
  const tokens = counted ?? Math.ceil(file.data.length / charsPerToken)
  const context = model === undefined ? undefined : contextOf(model)
  const isTooLong = context !== undefined && tokens >= context
  return (
    <span
      class={isTooLong ? 'attachment-tokens small bad' : 'attachment-tokens small muted'}
      role={isTooLong ? 'alert' : undefined}
    >
      {isTooLong ? chatTexts.fileTooLong(tokens, context) : chatTexts.fileTokens(tokens, counted !== undefined)}
    </span>
  )
}

/** A picture, or the name of a file; shows what the model reads of it. */
export function AttachmentView({ attachment }: { readonly attachment: Attachment }) {
  const [isOpen, setOpen] = useState(false)
  const { kind, name, data } = attachment
  return (
    <>
      <button type="button" class="attachment" title={chatTexts.openAttached(name)} onClick={() => setOpen(true)}>
        {kind === 'image' ? (
          <img src={data} alt={name} />
        ) : (
          <>
            <icons.file />
            <span class="attachment-name clip">{plainName(name)}</span>
          </>
        )}
      </button>
      {isOpen && (
        <Dialog title={plainName(name)} isWide onClose={() => setOpen(false)}>
          <AttachmentContent attachment={attachment} />
        </Dialog>
      )}
    </>
  )
}

/** More would hold the tab. */
const mostShown = 100_000

function AttachmentContent({ attachment: { kind, name, data } }: { readonly attachment: Attachment }) {
  if (kind === 'image') return <img class="made-picture" src={data} alt={name} />
  // biome-ignore lint/a11y/useMediaCaption: nobody has captions of what was attached
  if (kind === 'audio') return <audio controls src={data} />
  return (
    <>
      {data.length > mostShown && <p class="muted">{chatTexts.partOfFile(mostShown, data.length)}</p>}
      <pre class="attached-text">{data.slice(0, mostShown)}</pre>
    </>
  )
}
