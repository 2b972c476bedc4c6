#pragma once
// A person's hand on a dialog of a document that works in a folder: its widgets by name, its buttons, its file dialogs.

#include <QFileDialog>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QtTest>
#include <filesystem>
#include <memory>

#include "model/document.h"
#include "tests/support/patience.h"

namespace counterpoint::tests {

template <class Dialog>
struct DialogHand {
    std::filesystem::path folder;
    std::unique_ptr<model::Document> document;
    std::unique_ptr<QWidget> window = std::make_unique<QWidget>();
    Dialog* dialog = nullptr;

    explicit DialogHand(std::filesystem::path in) : folder(std::move(in)) {}
    void take(const char* name) {
        dialog = window->findChild<Dialog*>(QLatin1String(name));
        QVERIFY(dialog != nullptr && dialog->isVisible() && !dialog->isModal());
    }
    template <class T>
    T& find(const char* name) const {
        T* found = dialog->template findChild<T*>(QLatin1String(name));
        Q_ASSERT(found != nullptr);
        return *found;
    }
    void click(const char* name) const { QTest::mouseClick(&find<QPushButton>(name), Qt::LeftButton); }
    QString said(const char* name) const { return find<QLabel>(name).text().remove(QChar(0x200B)); }
    /// A button's file dialog, accepted under a name; empty: the one that is proposed.
    void chooseFile(const char* button, const char* fileDialog, const QString& file) const {
        click(button);
        auto& files = find<QFileDialog>(fileDialog);
        QVERIFY(files.isVisible());
        auto* edit = files.template findChild<QLineEdit*>("fileNameEdit");
        if (!file.isEmpty()) edit->setText(file);
        QTest::keyClick(edit, Qt::Key_Return);
        WAIT_UNTIL(dialog->template findChild<QFileDialog*>(QLatin1String(fileDialog)) == nullptr);
    }
};

}  // namespace counterpoint::tests
