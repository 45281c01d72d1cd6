import type { Signal } from '@preact/signals'
import { useState } from 'preact/hooks'
import { chatTexts } from '../../texts/chat.ts'
import { Button } from '../../ui/button.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { type Conversation, foldersOf } from './conversation.ts'
import { type ExportKind, exportKinds, exportTo } from './export.ts'
import { change, conversations } from './library.ts'

const texts = chatTexts.about

/** The title and the place of a conversation in the list, and its exports. */
export function ConversationDialog({
  conversation,
  onClose,
}: {
  readonly conversation: Signal<Conversation>
  readonly onClose: () => void
}) {
  const { isPinned = false, ...before } = conversation.value
  const [title, setTitle] = useState(before.title)
  const [folder, setFolder] = useState(before.folder ?? '')
  const save = (event: Event) => {
    event.preventDefault()
    const { folder: _, ...others } = conversation.value
    const moved = folder.trim() === '' ? others : { ...others, folder: folder.trim() }
    change(conversation, { ...moved, title: title.trim() || moved.title })
    onClose()
  }
  const pin = (pinned: boolean) => {
    const { isPinned: _, ...others } = conversation.value
    change(conversation, pinned ? { ...others, isPinned: true } : others)
  }
  const download = (kind: ExportKind) => {
    void exportTo(kind, [conversation.value])
    onClose()
  }
  return (
    <Dialog title={texts.title} onClose={onClose}>
      <form onSubmit={save}>
        <label class="labelled">
          <span>{texts.name}</span>
          <input class="field" autofocus value={title} onInput={(event) => setTitle(event.currentTarget.value)} />
        </label>
        <label class="labelled">
          <span>{texts.folder}</span>
          <input
            class="field"
            list="folders"
            placeholder={texts.noFolder}
            value={folder}
            onInput={(event) => setFolder(event.currentTarget.value)}
          />
        </label>
        <datalist id="folders">
          {foldersOf([...(conversations.value?.values() ?? [])].map((each) => each.value)).map((name) => (
            <option key={name} value={name} />
          ))}
        </datalist>
        <label class="check">
          <input type="checkbox" checked={isPinned} onChange={(event) => pin(event.currentTarget.checked)} />
          {texts.pin}
        </label>
        <fieldset class="plain">
          <legend class="small muted">{chatTexts.exportOne}</legend>
          <div class="row">
            {exportKinds.map((kind) => (
              <Button key={kind} onClick={() => download(kind)}>
                {texts.kinds[kind]}
              </Button>
            ))}
          </div>
        </fieldset>
        <div class="dialog-end">
          <Button kind="primary">{texts.rename}</Button>
        </div>
      </form>
    </Dialog>
  )
}
